"""The core's own offers pass the suites that plugins of others pass."""

from __future__ import annotations

import pytest

from kernelet.contracts.cache import CachePolicyOffer
from kernelet.testing.cache_policy import CachePolicyCapabilities, CachePolicySuite
from kernelet.testing.offered import find_offer


class TestLRUPolicy(CachePolicySuite):
    capabilities = CachePolicyCapabilities(least_recent_first=True)

    @pytest.fixture
    def offered(self):
        return find_offer("kernelet.builtin", CachePolicyOffer, "lru")
