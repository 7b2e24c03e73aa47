"""The suites of the test kit, on this package. The connector's needs NIXL."""

from __future__ import annotations

import pytest

from kernelet.contracts.kv import KVConnectorOffer
from kernelet.testing.kv_connector import KVConnectorCapabilities, KVConnectorSuite
from kernelet.testing.offered import Offered, find_offer
from kernelet.testing.package import PackageCapabilities, PackageSuite
from kernelet_kv_transfer.params import TO_DECODE

__all__ = ["TestKVNixl", "TestPackage"]


class TestPackage(PackageSuite):
    capabilities = PackageCapabilities(device_modules=frozenset({"nixl"}))

    @pytest.fixture
    def distribution(self) -> str:
        return "kernelet-kv-nixl"


class TestKVNixl(KVConnectorSuite):
    capabilities = KVConnectorCapabilities(keeps=False, producer_params={TO_DECODE: True}, examples=5)

    @pytest.fixture
    def offered(self) -> Offered[KVConnectorOffer]:
        pytest.importorskip("nixl", reason="NIXL is not installed")
        return find_offer("kernelet_kv_nixl.plugin", KVConnectorOffer, "kv-nixl")
