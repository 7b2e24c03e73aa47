from __future__ import annotations

import pytest

from kernelet.contracts.attention import AttentionOffer, AttentionSpec
from kernelet.testing.attention.steps import PagedRequests
from kernelet.testing.offered import find_offer


def make_spec(**changes):
    values = {
        "kind": "sliding" if changes.get("window") else "full",
        "num_heads": 4,
        "num_kv_heads": 2,
        "head_size": 8,
        "dtype": "float64",
        "block_size": 4,
        "scale": 0.4,
    }
    return AttentionSpec(**{**values, **changes})


@pytest.fixture
def spec():
    return make_spec


@pytest.fixture
def requests_of():
    """Requests of random content over the cache of one layer of ours."""

    def requests_of(spec, name="torch-paged", **options):
        offered = find_offer("kernelet_platform_cpu.plugin", AttentionOffer, name)
        return PagedRequests(offered, spec, "cpu", **options)

    return requests_of
