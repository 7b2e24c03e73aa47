from __future__ import annotations


def test_documented(domain):
    domain.check_documented()


def test_parameters(domain):
    assert domain.parameters() == {
        "kernelet_cache_specs": [],
        "kernelet_cache_policies": [],
    }


def test_returns(domain):
    assert domain.returns() == {
        "kernelet_cache_specs": "Sequence[CacheSpecOffer]",
        "kernelet_cache_policies": "Sequence[CachePolicyOffer]",
    }
