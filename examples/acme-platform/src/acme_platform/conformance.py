"""The suites of the kit on what the package offers: ``kernelet plugins doctor --conformance``."""

from __future__ import annotations

import pytest

from kernelet.contracts.attention import AttentionOffer
from kernelet.contracts.executor import CommunicatorOffer
from kernelet.contracts.op import OpOffer, WeightKernelOffer
from kernelet.contracts.platform import PlatformOffer
from kernelet.testing.attention import AttentionCapabilities, AttentionSuite
from kernelet.testing.communicator import CommunicatorCapabilities, CommunicatorSuite
from kernelet.testing.offered import Offered, find_offer
from kernelet.testing.op import OpSuite
from kernelet.testing.package import PackageSuite
from kernelet.testing.platform import PlatformSuite
from kernelet.testing.weight_kernel import WeightKernelCapabilities, WeightKernelSuite

PLUGIN = "acme_platform.plugin"
DTYPES = ("float32", "float64")


class TestPackage(PackageSuite):
    @pytest.fixture
    def distribution(self) -> str:
        return "acme-platform"


class TestPlatform(PlatformSuite):
    @pytest.fixture
    def offered(self) -> Offered[PlatformOffer]:
        return find_offer(PLUGIN, PlatformOffer)


class TestAttention(AttentionSuite):
    capabilities = AttentionCapabilities()

    @pytest.fixture
    def offered(self) -> Offered[AttentionOffer]:
        return find_offer(PLUGIN, AttentionOffer)


class TestActAndMul(OpSuite):
    @pytest.fixture
    def offered(self) -> Offered[OpOffer]:
        return find_offer(PLUGIN, OpOffer, "acme-act-and-mul")


class TestRMSNorm(OpSuite):
    @pytest.fixture
    def offered(self) -> Offered[OpOffer]:
        return find_offer(PLUGIN, OpOffer, "acme-rms-norm")


class TestDense(WeightKernelSuite):
    capabilities = WeightKernelCapabilities(dtypes=DTYPES)

    @pytest.fixture
    def offered(self) -> Offered[WeightKernelOffer]:
        return find_offer(PLUGIN, WeightKernelOffer)


class TestCommunicator(CommunicatorSuite):
    capabilities = CommunicatorCapabilities(threads=True)

    @pytest.fixture
    def offered(self) -> Offered[CommunicatorOffer]:
        return find_offer(PLUGIN, CommunicatorOffer)
