"""The suites of the test kit, on what this package offers; interpreted, where there is no device."""

from __future__ import annotations

from typing import Any

import pytest

from kernelet.contracts.offer import Settings
from kernelet.contracts.op import OpOffer, WeightKernelOffer
from kernelet.contracts.plugins import PluginView
from kernelet.testing.offered import Offered, find_offer
from kernelet.testing.op import OpCapabilities, OpSuite
from kernelet.testing.package import PackageSuite
from kernelet.testing.plugin_view import FixedPlugins
from kernelet.testing.weight_kernel import WeightKernelCapabilities, WeightKernelSuite
from kernelet_device_triton.testing import some_device
from kernelet_ops_triton.plugin import DTYPES, OPS, kernelet_weight_kernels

__all__ = [
    "TestDense",
    "TestInvariantDense",
    "TestInvariantQuantized",
    "TestMoE",
    "TestOps",
    "TestPackage",
    "TestQuantized",
    "some_device",
]

PLUGIN = "kernelet_ops_triton.plugin"


class TestPackage(PackageSuite):
    @pytest.fixture
    def distribution(self) -> str:
        return "kernelet-ops-triton"


class TestOps(OpSuite):
    capabilities = OpCapabilities(batch_invariant=True)

    @pytest.fixture
    def device(self, some_device: Any) -> Any:
        return some_device

    @pytest.fixture(params=[name for name in OPS if name != "moe"])
    def offered(self, request: pytest.FixtureRequest) -> Offered[OpOffer]:
        return find_offer(PLUGIN, OpOffer, f"triton-{request.param.replace('_', '-')}")


class Kernels(FixedPlugins):
    """Layers get this package's kernels."""

    def settings(self, plugin: str) -> Settings:
        return find_offer(PLUGIN, WeightKernelOffer, "triton-dense").settings


class TestMoE(OpSuite):
    """With experts of this package."""

    capabilities = OpCapabilities(dtypes=("float32", "bfloat16"))

    @pytest.fixture
    def device(self, some_device: Any) -> Any:
        return some_device

    @pytest.fixture
    def offered(self) -> Offered[OpOffer]:
        return find_offer(PLUGIN, OpOffer, "triton-moe")

    @pytest.fixture
    def plugins(self) -> PluginView | None:
        return Kernels(kernelet_weight_kernels())


class TestDense(WeightKernelSuite):
    capabilities = WeightKernelCapabilities(dtypes=DTYPES, shapes=((48, 128), (37, 24), (70, 129)))

    @pytest.fixture
    def device(self, some_device: Any) -> Any:
        return some_device

    @pytest.fixture
    def offered(self) -> Offered[WeightKernelOffer]:
        return find_offer(PLUGIN, WeightKernelOffer, "triton-dense")


class TestInvariantDense(TestDense):
    """The same, as ``--set ops-triton.batch_invariant=true`` has it."""

    capabilities = WeightKernelCapabilities(dtypes=DTYPES, shapes=((37, 24), (70, 129)), batch_invariant=True)

    @pytest.fixture
    def offered(self) -> Offered[WeightKernelOffer]:
        return find_offer(PLUGIN, WeightKernelOffer, "triton-dense", batch_invariant=True)


class TestQuantized(WeightKernelSuite):
    capabilities = WeightKernelCapabilities(dtypes=("float32", "bfloat16"), shapes=((37, 24), (70, 192)))

    @pytest.fixture
    def device(self, some_device: Any) -> Any:
        return some_device

    @pytest.fixture
    def offered(self) -> Offered[WeightKernelOffer]:
        return find_offer(PLUGIN, WeightKernelOffer, "triton-quantized")


class TestInvariantQuantized(TestQuantized):
    """The same, as ``--set ops-triton.batch_invariant=true`` has it."""

    capabilities = WeightKernelCapabilities(dtypes=("bfloat16",), shapes=((37, 160),), batch_invariant=True)

    @pytest.fixture
    def offered(self) -> Offered[WeightKernelOffer]:
        return find_offer(PLUGIN, WeightKernelOffer, "triton-quantized", batch_invariant=True)
