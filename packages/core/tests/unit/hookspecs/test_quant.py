from __future__ import annotations


def test_documented(domain):
    domain.check_documented()


def test_parameters(domain):
    assert domain.parameters() == {
        "kernelet_quantization_methods": [],
        "kernelet_quantizers": [],
        "kernelet_kv_cache_methods": [],
    }


def test_returns(domain):
    assert domain.returns() == {
        "kernelet_quantization_methods": "Sequence[QuantOffer]",
        "kernelet_quantizers": "Sequence[QuantizerOffer]",
        "kernelet_kv_cache_methods": "Sequence[KVCacheOffer]",
    }
