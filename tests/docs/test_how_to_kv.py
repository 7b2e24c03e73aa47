"""The connector of docs/plugins/kv.md passes the suite of its kind."""

from __future__ import annotations

import pytest
from kit import run_suites

from kernelet.contracts.kv import KVConnectorOffer
from kernelet.testing.kv_connector import KVConnectorCapabilities, KVConnectorSuite
from kernelet.testing.offered import find_offer


def test_kv_connector(example, tmp_path):
    plugin = example("kv")
    (owned,) = plugin.boot().offers(KVConnectorOffer)
    assert owned.offer.name == "shelf"

    class Shelf(KVConnectorSuite):
        capabilities = KVConnectorCapabilities(chunk=16, examples=10, patience=2.0)

        @pytest.fixture
        def offered(self):
            return find_offer(plugin.module, KVConnectorOffer)

    listener = run_suites([Shelf], tmp_path)
    assert not listener.messages
    assert listener.passed[0] > 15
