"""The suites of the test kit; on a machine without a GPU, on a device that remembers its calls."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from kernelet.contracts.attention import AttentionOffer
from kernelet.contracts.op import WeightKernelOffer
from kernelet.contracts.platform import Capabilities, Device, PlatformOffer, Probe
from kernelet.hookspecs import hookimpl
from kernelet.testing.offered import Offered, find_offer
from kernelet.testing.package import PackageSuite
from kernelet.testing.platform import PlatformCapabilities, PlatformSuite
from kernelet_device_torch.recorded import MEMORY, Recorded
from kernelet_platform_cuda import plugin as own
from kernelet_platform_cuda.config import CudaPlatformConfig
from kernelet_platform_cuda.device import CudaDevice
from kernelet_platform_cuda.nvml import Gpu
from kernelet_platform_cuda.probe import probe

GPU = Gpu(
    uuid="GPU-00000000-recorded",
    name="recorded",
    compute_capability=(9, 0),
    memory_bytes=MEMORY,
    multiprocessors=132,
)


def recorded_probe() -> Probe:
    """A GPU that is made of nothing; only taken when named."""
    return Probe(available=True, reason="its calls are recorded", priority=-200)


class RecordedConfig(CudaPlatformConfig):
    """Of a GPU of compute capability 9.0 whose tensors lie on the host, without kernels that need one."""

    def gpus(self) -> tuple[Gpu, ...]:
        return (GPU,)

    def capabilities(self) -> Capabilities:
        found = super().capabilities()
        return replace(found, device_type="cpu", features=found.features - {"triton", "flex"} | {"recorded"})

    def attention_order(self) -> tuple[str, ...]:
        return ("recorded", *super().attention_order())


class RecordedDevice(Recorded, CudaDevice):
    """Remembers what is asked of ``torch.cuda``."""


class RecordedPlugin:
    """The platform ``cuda`` as it is, but for the GPU."""

    name = "platform-recorded"

    @hookimpl
    def kernelet_platforms(self) -> Sequence[PlatformOffer]:
        here = f"{__name__}:"
        changed = {
            "target": f"{here}RecordedDevice",
            "probe": f"{here}recorded_probe",
            "config": f"{here}RecordedConfig",
        }
        return tuple(replace(offer, name="recorded", **changed) for offer in own.kernelet_platforms())

    @hookimpl
    def kernelet_attention_backends(self) -> Sequence[AttentionOffer]:
        return (
            AttentionOffer(
                name="recorded",
                target="kernelet.testing.attention.reference:SlowAttention",
                kinds=frozenset({"full", "sliding"}),
                soft_cap=True,
                sinks=True,
                required_features=frozenset({"recorded"}),
            ),
        )

    @hookimpl
    def kernelet_weight_kernels(self) -> Sequence[WeightKernelOffer]:
        return tuple(replace(offer, name="recorded") for offer in own.kernelet_weight_kernels())


recorded = RecordedPlugin()
"""For ``plugins=["kernelet_platform_cuda.conformance:recorded"]``."""


@functools.cache
def has_gpu() -> bool:
    """Whether the suite runs on a GPU."""
    return probe().available


class TestPackage(PackageSuite):
    @pytest.fixture
    def distribution(self) -> str:
        return "kernelet-platform-cuda"


class TestPlatform(PlatformSuite):
    capabilities = PlatformCapabilities(dtype="" if has_gpu() else "float64")

    @pytest.fixture
    def offered(self) -> Offered[PlatformOffer]:
        return find_offer(own if has_gpu() else recorded, PlatformOffer)

    @pytest.fixture
    def plugins(self) -> Sequence[object]:
        return () if has_gpu() else (recorded,)

    @pytest.mark.xfail(not has_gpu(), reason="what is recorded takes no memory of a device")
    def test_the_peak_is_what_was_taken_at_once(self, torch: Any, running: Device) -> None:
        super().test_the_peak_is_what_was_taken_at_once(torch, running)
