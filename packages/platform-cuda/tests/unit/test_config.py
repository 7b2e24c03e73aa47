from __future__ import annotations

import dataclasses

import pynvml
import pytest
from fake_nvml import H100, T4

from kernelet.config import ParallelConfig
from kernelet.contracts.offer import Settings
from kernelet.errors import ConfigError
from kernelet.testing.platform.configs import engine_config
from kernelet_platform_cuda.config import CudaPlatformConfig

CONFIG = CudaPlatformConfig(Settings(plugin="platform-cuda"))


def with_ranks(count):
    return dataclasses.replace(engine_config("float16"), parallel=ParallelConfig(tensor_parallel_size=count))


def test_capabilities_are_those_of_visible_gpus(machine):
    machine(H100, T4, visible="0")
    assert CONFIG.capabilities().compute_capability == (9, 0)
    machine(H100, T4)
    assert CONFIG.capabilities().compute_capability == (7, 5)


def test_more_ranks_than_gpus_are_refused(machine):
    machine(H100, H100)
    assert CONFIG.check_and_update_config(with_ranks(2)) == ()
    machine(H100, H100, visible="1")
    with pytest.raises(ConfigError, match=r"^--tensor-parallel-size 2 needs as many GPUs, and 1 can be seen here"):
        CONFIG.check_and_update_config(with_ranks(2))


def test_without_a_gpu_it_says_why(machine):
    machine(H100, visible="")
    with pytest.raises(ConfigError, match="no GPU is visible: see CUDA_VISIBLE_DEVICES"):
        CONFIG.capabilities()
    machine(error=pynvml.NVMLError_DriverNotLoaded())
    with pytest.raises(ConfigError, match="no NVIDIA driver answers"):
        CONFIG.capabilities()


def test_the_order_of_attention():
    assert CONFIG.attention_order() == ("flash-4", "flash-3", "flash", "flashinfer", "triton", "flex")
