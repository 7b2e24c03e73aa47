from __future__ import annotations

import dataclasses
import subprocess
import sys

import pytest

from kernelet.config import ParallelConfig
from kernelet.contracts.offer import Settings
from kernelet.contracts.platform import Capabilities
from kernelet.errors import ConfigError
from kernelet.testing.platform.configs import engine_config
from kernelet_device_torch.config import GpuPlatformConfig


class AcmeConfig(GpuPlatformConfig[str]):
    variables = "ACME_VISIBLE_DEVICES"
    attention = ("acme", "triton")
    seen = ("first", "second")

    def look_up(self):
        return self.seen

    def capabilities(self):
        return Capabilities(device_type="acme", dtypes=("float32",), memory_bytes=1)


CONFIG = AcmeConfig(Settings(plugin="platform-acme"))


def with_ranks(count):
    return dataclasses.replace(engine_config("float16"), parallel=ParallelConfig(tensor_parallel_size=count))


def test_a_rank_needs_a_gpu():
    assert CONFIG.check_and_update_config(with_ranks(2)) == ()
    with pytest.raises(ConfigError, match="2 can be seen here: use at most 2, or let ACME_VISIBLE_DEVICES show more"):
        CONFIG.check_and_update_config(with_ranks(3))


def test_none_is_an_error_that_names_the_variables(monkeypatch):
    monkeypatch.setattr(AcmeConfig, "seen", ())
    with pytest.raises(ConfigError, match="no GPU is visible: see ACME_VISIBLE_DEVICES"):
        CONFIG.gpus()


def test_torch_is_not_imported():
    code = "import sys, kernelet_device_torch.config; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
