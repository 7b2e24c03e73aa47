from __future__ import annotations

import pytest
import torch

from kernelet.contracts.attention import AttentionOffer
from kernelet.contracts.op import WeightKernelOffer
from kernelet.contracts.platform import PlatformOffer
from kernelet.contracts.sampling import SamplingParams
from kernelet.errors import ConfigError, RequestError
from kernelet.testing.offered import find_offer
from kernelet.testing.platform.configs import engine_config
from kernelet.testing.platform.reference import LONGEST_PROMPT, plugin, probe

PLUGIN = "kernelet.testing.platform.reference:plugin"


@pytest.fixture
def offered():
    return find_offer(PLUGIN, PlatformOffer, memory_bytes=1 << 20)


def test_every_target_can_be_imported(offered):
    for kind in (AttentionOffer, WeightKernelOffer):
        assert find_offer(plugin, kind).target.__name__
    assert offered.settings["memory_bytes"] == 1 << 20
    assert probe().available


def test_the_device_is_the_host(offered):
    device = offered.target(offered.settings, 0)
    device.init()
    assert device.memory().total == 1 << 20
    assert device.tensor_device == torch.device("cpu")
    ran = []
    replay = device.capture(lambda: ran.append(1))
    replay()
    assert ran == [1, 1]


def test_its_configuration(offered):
    from kernelet.testing.platform.reference import ReferenceConfig

    half = ReferenceConfig(offered.settings)
    assert half.check_and_update_config(engine_config("float32")) == ()
    config = engine_config("float32")
    object.__setattr__(config.cache, "block_size", 10)
    (change,) = half.check_and_update_config(config)
    assert change.value == 12
    object.__setattr__(config.parallel, "tensor_parallel_size", 2)
    with pytest.raises(ConfigError, match="--tensor-parallel-size 1"):
        half.check_and_update_config(config)
    with pytest.raises(RequestError, match="too long"):
        half.validate_request(LONGEST_PROMPT + 1, SamplingParams())
