"""The suites of the test kit, on what this package offers."""

from __future__ import annotations

import pytest

from kernelet.contracts.attention import AttentionOffer
from kernelet.contracts.executor import CommunicatorOffer
from kernelet.contracts.op import OpOffer, ScaleLevel, WeightKernelOffer, WeightScheme
from kernelet.contracts.platform import PlatformOffer
from kernelet.testing.attention import AttentionCapabilities, AttentionSuite
from kernelet.testing.communicator import CommunicatorCapabilities, CommunicatorSuite
from kernelet.testing.offered import Offered, find_offer
from kernelet.testing.op import OpCapabilities, OpSuite
from kernelet.testing.package import PackageSuite
from kernelet.testing.platform import PlatformCapabilities, PlatformSuite
from kernelet.testing.weight_kernel import WeightKernelCapabilities, WeightKernelSuite
from kernelet_platform_cpu.native import native
from kernelet_platform_cpu.plugin import OPS

PLUGIN = "kernelet_platform_cpu.plugin"
DTYPES = ("float64", "float32", "float16", "bfloat16", "int64")
"""Of tensors that go between ranks."""


class TestPackage(PackageSuite):
    @pytest.fixture
    def distribution(self) -> str:
        return "kernelet-platform-cpu"


class TestPlatform(PlatformSuite):
    capabilities = PlatformCapabilities(options={"set": {"platform-cpu": {"threads": 1}}})

    @pytest.fixture
    def offered(self) -> Offered[PlatformOffer]:
        return find_offer(PLUGIN, PlatformOffer, threads=1)


class TestTorchPagedAttention(AttentionSuite):
    capabilities = AttentionCapabilities(batch_invariant=True)

    @pytest.fixture
    def offered(self) -> Offered[AttentionOffer]:
        return find_offer(PLUGIN, AttentionOffer, "torch-paged")


@pytest.mark.skipif(native() is None, reason="platform-cpu has no kernels of its own here")
class TestNativePagedAttention(AttentionSuite):
    capabilities = AttentionCapabilities(batch_invariant=True)

    @pytest.fixture
    def offered(self) -> Offered[AttentionOffer]:
        return find_offer(PLUGIN, AttentionOffer, "native-paged")


@pytest.mark.skipif(native() is None, reason="platform-cpu has no kernels of its own here")
class TestNativeOps(OpSuite):
    capabilities = OpCapabilities(batch_invariant=True)

    @pytest.fixture(params=[name for name in OPS if name != "moe"])
    def offered(self, request: pytest.FixtureRequest) -> Offered[OpOffer]:
        return find_offer(PLUGIN, OpOffer, f"native-{request.param.replace('_', '-')}")


@pytest.mark.skipif(native() is None, reason="platform-cpu has no kernels of its own here")
class TestNativeMoE(OpSuite):
    """Promises no bits: the suite's experts have kernels of its own, so the op is decomposed into those."""

    @pytest.fixture
    def offered(self) -> Offered[OpOffer]:
        return find_offer(PLUGIN, OpOffer, "native-moe")


class TestTorchDense(WeightKernelSuite):
    @pytest.fixture(params=[True, False], ids=["prepacked", "as-it-is"])
    def offered(self, request: pytest.FixtureRequest) -> Offered[WeightKernelOffer]:
        return find_offer(PLUGIN, WeightKernelOffer, "torch-dense", prepack=request.param)


@pytest.mark.skipif(native() is None, reason="platform-cpu has no kernels of its own here")
class TestNativeDense(WeightKernelSuite):
    capabilities = WeightKernelCapabilities(batch_invariant=True, shapes=((48, 128), (37, 24), (70, 129)))

    @pytest.fixture
    def offered(self) -> Offered[WeightKernelOffer]:
        return find_offer(PLUGIN, WeightKernelOffer, "native-dense")


SCHEMES = (
    WeightScheme(element="uint8", scales=(ScaleLevel("float32", (1, 0)),), zero_point="float"),
    WeightScheme(element="int3", scales=(ScaleLevel("float32", (1, 16)),)),
    WeightScheme(
        element="uint4",
        scales=(ScaleLevel("float32", (1, 40)),),
        zero_point="float",
        activation="dynamic",
        activation_element="int8",
    ),
)
"""Integers that the kit does not ask for."""


@pytest.mark.skipif(native() is None, reason="platform-cpu has no kernels of its own here")
class TestNativeQuantized(WeightKernelSuite):
    capabilities = WeightKernelCapabilities(
        batch_invariant=True, shapes=((37, 24), (18, 528)), dtypes=("float64", "bfloat16"), schemes=SCHEMES
    )

    @pytest.fixture
    def offered(self) -> Offered[WeightKernelOffer]:
        return find_offer(PLUGIN, WeightKernelOffer, "native-quantized")


class TestTorchQuantized(WeightKernelSuite):
    capabilities = WeightKernelCapabilities(shapes=((37, 44),), dtypes=("float64", "bfloat16"), schemes=SCHEMES)

    @pytest.fixture
    def offered(self) -> Offered[WeightKernelOffer]:
        return find_offer(PLUGIN, WeightKernelOffer, "torch-quantized")


class TestGlooOfTwo(CommunicatorSuite):
    capabilities = CommunicatorCapabilities(world_size=2, dtypes=DTYPES)

    @pytest.fixture
    def offered(self) -> Offered[CommunicatorOffer]:
        return find_offer(PLUGIN, CommunicatorOffer, "gloo")


class TestSharedMemoryOfTwo(CommunicatorSuite):
    capabilities = CommunicatorCapabilities(world_size=2, dtypes=DTYPES)

    @pytest.fixture
    def offered(self) -> Offered[CommunicatorOffer]:
        return find_offer(PLUGIN, CommunicatorOffer, "shared-memory")


class TestSharedMemoryOfFour(CommunicatorSuite):
    capabilities = CommunicatorCapabilities(world_size=4, dtypes=DTYPES)

    @pytest.fixture
    def offered(self) -> Offered[CommunicatorOffer]:
        return find_offer(PLUGIN, CommunicatorOffer, "shared-memory")
