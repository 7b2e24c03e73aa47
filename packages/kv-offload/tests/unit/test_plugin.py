from __future__ import annotations

from kernelet.contracts.kv import KVConnectorOffer
from kernelet.testing.offered import find_offer
from kernelet_kv_offload.scheduler import OffloadScheduler


def test_offer():
    found = find_offer("kernelet_kv_offload.plugin", KVConnectorOffer, "kv-offload", memory_bytes="4096")
    assert found.target is OffloadScheduler
    assert found.settings["memory_bytes"] == 4096
    assert found.offer.default_role == "both"
    assert not found.settings["path"]
