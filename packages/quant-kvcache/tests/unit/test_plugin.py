from __future__ import annotations

from kernelet_quant_kvcache import plugin


def test_offers():
    offers = plugin.kernelet_kv_cache_methods()
    assert [offer.name for offer in offers] == ["fp8", "int8"]
    assert all(offer.summary for offer in offers)
