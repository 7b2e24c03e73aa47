"""The suites of the test kit, on this package."""

from __future__ import annotations

import pytest

from kernelet.contracts.kv import KVConnectorOffer
from kernelet.testing.kv_connector import KVConnectorCapabilities, KVConnectorSuite
from kernelet.testing.offered import Offered, find_offer
from kernelet.testing.package import PackageSuite
from kernelet_kv_transfer.params import TO_DECODE

__all__ = ["TestKVTransfer", "TestPackage"]


class TestPackage(PackageSuite):
    @pytest.fixture
    def distribution(self) -> str:
        return "kernelet-kv-transfer"


class TestKVTransfer(KVConnectorSuite):
    capabilities = KVConnectorCapabilities(keeps=False, producer_params={TO_DECODE: True}, examples=8)

    @pytest.fixture
    def offered(self) -> Offered[KVConnectorOffer]:
        return find_offer("kernelet_kv_transfer.plugin", KVConnectorOffer, "kv-transfer")
