"""The core's own offers pass the suites that plugins of others pass."""

from __future__ import annotations

import pytest
from safetensors.torch import save_file

from kernelet.contracts.cache import CachePolicyOffer
from kernelet.contracts.model import WeightFormatOffer
from kernelet.testing.cache_policy import CachePolicyCapabilities, CachePolicySuite
from kernelet.testing.offered import find_offer
from kernelet.testing.weight_format import WeightFormatCapabilities, WeightFormatSuite


class TestLRUPolicy(CachePolicySuite):
    capabilities = CachePolicyCapabilities(least_recent_first=True)

    @pytest.fixture
    def offered(self):
        return find_offer("kernelet.builtin", CachePolicyOffer, "lru")


class TestSafetensors(WeightFormatSuite):
    capabilities = WeightFormatCapabilities(
        dtypes=(
            *("float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"),
            *("int64", "int32", "int16", "int8", "uint8", "bool"),
        )
    )

    @pytest.fixture
    def offered(self):
        return find_offer("kernelet.builtin", WeightFormatOffer, "safetensors")

    @pytest.fixture
    def write(self):
        return lambda folder, tensors: save_file(dict(tensors), folder / "model.safetensors")
