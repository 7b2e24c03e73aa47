from __future__ import annotations

import subprocess
import sys

import pytest
from acme_platform.config import AcmeConfig, probe

from kernelet.config import CacheConfig, EngineConfig, ModelConfig, ParallelConfig
from kernelet.contracts.offer import Settings
from kernelet.errors import ConfigError

MODEL = ModelConfig(
    model="m", path="", architecture="A", hf_config={}, dtype="float32", vocab_size=9, max_model_len=9, num_layers=1
)


def platform(**values):
    return AcmeConfig(Settings(plugin="acme-platform", values={"memory_mib": 3, "threads": 2} | values))


def test_what_the_device_can_do():
    capabilities = platform().capabilities()
    assert (capabilities.memory_bytes, capabilities.num_compute_units) == (3 << 20, 2)
    assert capabilities.dtypes == ("float32", "float64")


@pytest.mark.parametrize("key", ["memory_mib", "threads"])
def test_options_below_one(key):
    with pytest.raises(ConfigError, match=f"acme-platform.{key} is 0: it must be at least 1"):
        platform(**{key: 0}).capabilities()


@pytest.mark.parametrize("size, rounded", [(8, None), (16, None), (1, 8), (12, 16), (17, 24)])
def test_blocks_are_multiples_of_eight(size, rounded):
    changes = platform().check_and_update_config(EngineConfig(model=MODEL, cache=CacheConfig(block_size=size)))
    assert [(change.path, change.value) for change in changes] == ([("cache.block_size", rounded)] if rounded else [])


def test_ranks_have_a_device_each():
    config = EngineConfig(model=MODEL, parallel=ParallelConfig(tensor_parallel_size=4))
    assert platform().check_and_update_config(config) == ()


def test_neither_the_probe_nor_this_half_imports_torch():
    assert probe().available and probe().priority < 0
    code = "import sys; from acme_platform.config import probe; probe(); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
