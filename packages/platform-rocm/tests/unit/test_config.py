from __future__ import annotations

import dataclasses

import pytest

from kernelet.config import ParallelConfig
from kernelet.contracts.offer import Settings
from kernelet.errors import ConfigError
from kernelet.testing.platform.configs import engine_config
from kernelet_platform_rocm.config import RocmPlatformConfig

CONFIG = RocmPlatformConfig(Settings(plugin="platform-rocm"))


def with_ranks(count):
    return dataclasses.replace(engine_config("float16"), parallel=ParallelConfig(tensor_parallel_size=count))


def test_capabilities_are_those_of_visible_gpus(machine, mi300, rdna3):
    machine(mi300(1), rdna3, hip="0")
    assert "gfx942" in CONFIG.capabilities().features
    machine(mi300(1), rdna3)
    assert "gfx942" not in CONFIG.capabilities().features


def test_more_ranks_than_gpus_are_refused(machine, mi300):
    machine(mi300(1), mi300(2))
    assert CONFIG.check_and_update_config(with_ranks(2)) == ()
    machine(mi300(1), mi300(2), rocr="1")
    with pytest.raises(ConfigError, match=r"^--tensor-parallel-size 2 needs as many GPUs, and 1 can be seen here"):
        CONFIG.check_and_update_config(with_ranks(2))


def test_without_a_gpu_it_says_why(machine, mi300):
    machine(mi300(1), hip="")
    with pytest.raises(ConfigError, match="no GPU is visible: see ROCR_VISIBLE_DEVICES and HIP_VISIBLE_DEVICES"):
        CONFIG.capabilities()


def test_the_order_of_attention():
    assert CONFIG.attention_order() == ("aiter", "triton", "flex")
