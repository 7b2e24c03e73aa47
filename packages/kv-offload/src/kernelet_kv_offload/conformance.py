"""The suites of the test kit, on this package."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelet.contracts.cache import CachePolicyOffer
from kernelet.contracts.kv import KVConnectorOffer
from kernelet.testing.cache_policy import CachePolicySuite
from kernelet.testing.kv_connector import KVConnectorCapabilities, KVConnectorSuite
from kernelet.testing.offered import Offered, find_offer
from kernelet.testing.package import PackageSuite

__all__ = ["TestARC", "TestDisk", "TestMemory", "TestPackage"]

PLUGIN = "kernelet_kv_offload.plugin"
CHUNK = 8


class TestPackage(PackageSuite):
    @pytest.fixture
    def distribution(self) -> str:
        return "kernelet-kv-offload"


class TestARC(CachePolicySuite):
    @pytest.fixture
    def offered(self) -> Offered[CachePolicyOffer]:
        return find_offer(PLUGIN, CachePolicyOffer, "arc")


class TestMemory(KVConnectorSuite):
    capabilities = KVConnectorCapabilities(chunk=CHUNK)

    @pytest.fixture
    def offered(self) -> Offered[KVConnectorOffer]:
        return find_offer(PLUGIN, KVConnectorOffer, chunk_tokens=CHUNK, memory_bytes=4 << 20)


class TestDisk(KVConnectorSuite):
    """Memory for a few chunks: most of what is loaded comes from files."""

    capabilities = KVConnectorCapabilities(chunk=CHUNK, persistent=True)

    @pytest.fixture
    def offered(self, tmp_path: Path) -> Offered[KVConnectorOffer]:
        return find_offer(
            PLUGIN, KVConnectorOffer, chunk_tokens=CHUNK, memory_bytes=24 << 10, path=str(tmp_path), write_queue=4096
        )
