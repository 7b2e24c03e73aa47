"""What a platform of GPUs names first can be chosen there, by the rules of those who offer it."""

from __future__ import annotations

import pytest

from kernelet.config import PluginsConfig
from kernelet.contracts.attention import AttentionOffer, AttentionSpec
from kernelet.kernel import Kernel
from kernelet.kernel.select.attention import why_not
from kernelet_platform_cuda import facts as cuda
from kernelet_platform_cuda.config import CudaPlatformConfig
from kernelet_platform_cuda.nvml import Gpu as CudaGpu
from kernelet_platform_rocm import facts as rocm
from kernelet_platform_rocm.config import RocmPlatformConfig
from kernelet_platform_rocm.kfd import Gpu as RocmGpu

ORDERS = {"cuda": CudaPlatformConfig.attention, "rocm": RocmPlatformConfig.attention}
BLOCKS = (16, 128, 256)


def a_cuda_gpu(version):
    return cuda.capabilities_of([CudaGpu(uuid="", name="", compute_capability=version, memory_bytes=1 << 30)])


def a_rocm_gpu(target):
    gpu = RocmGpu(uuid="", target=target, memory_bytes=1 << 30, compute_units=8, wave_size=64)
    return rocm.capabilities_of([gpu])


GPUS = {
    "cuda": [a_cuda_gpu(version) for version in ((8, 0), (8, 9), (9, 0), (10, 0), (12, 0))],
    "rocm": [a_rocm_gpu(target) for target in ("gfx942", "gfx950", "gfx1100")],
}


def reasons(offer, capabilities, block_size):
    """But for a library that is not here."""
    spec = AttentionSpec(
        kind="full", num_heads=8, num_kv_heads=2, head_size=128, dtype="bfloat16", scale=0.1, block_size=block_size
    )
    found = why_not(offer, spec, capabilities).split("; ")
    return [reason for reason in found if reason and "not installed" not in reason]


@pytest.mark.parametrize("platform", ORDERS)
def test_each_can_be_chosen_on_some_gpu(platform):
    offers = {owned.offer.name: owned.offer for owned in Kernel.boot(PluginsConfig()).offers(AttentionOffer)}
    for name in ORDERS[platform]:
        refused = [reasons(offers[name], gpu, block) for gpu in GPUS[platform] for block in BLOCKS]
        assert [] in refused, (name, refused)
