"""The suites of the test kit, on this package."""

from __future__ import annotations

import pytest

from kernelet.contracts.quant import QuantOffer
from kernelet.testing.offered import Offered, find_offer
from kernelet.testing.package import PackageSuite
from kernelet.testing.quantization import QuantizationCapabilities, QuantizationSuite
from kernelet.testing.quantization.methods import method_of
from kernelet.testing.quantization.suite import Excluding

__all__ = ["TestInt4", "TestInt8", "TestPackage"]

PLUGIN = "kernelet_quant_online.plugin"


def excluding_of(name: str) -> Excluding:
    """The option ``exclude``."""
    return lambda entries: method_of(find_offer(PLUGIN, QuantOffer, name, exclude=",".join(entries)), None)


class TestPackage(PackageSuite):
    @pytest.fixture
    def distribution(self) -> str:
        return "kernelet-quant-online"


class TestInt8(QuantizationSuite):
    capabilities = QuantizationCapabilities(error=0.02)

    @pytest.fixture
    def offered(self) -> Offered[QuantOffer]:
        return find_offer(PLUGIN, QuantOffer, "int8")

    @pytest.fixture
    def excluding(self) -> Excluding | None:
        return excluding_of("int8")


class TestInt4(QuantizationSuite):
    capabilities = QuantizationCapabilities(error=0.2)

    @pytest.fixture(params=["zero points", "symmetric", "groups of 128"])
    def offered(self, request: pytest.FixtureRequest) -> Offered[QuantOffer]:
        options: dict[str, dict[str, object]] = {
            "zero points": {},
            "symmetric": {"zero_points": False},
            "groups of 128": {"group_size": 128},
        }
        return find_offer(PLUGIN, QuantOffer, "int4", **options[request.param])

    @pytest.fixture
    def excluding(self) -> Excluding | None:
        return excluding_of("int4")
