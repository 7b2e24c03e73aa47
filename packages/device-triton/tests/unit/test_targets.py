from __future__ import annotations

import pytest
import torch

from kernelet.errors import ConfigError
from kernelet_device_triton.targets import ALIASES, INTERPRETER, REPORTED, TARGETS, named, target_of


def test_names():
    assert set(REPORTED) <= set(TARGETS)
    assert set(ALIASES.values()) <= set(TARGETS)
    assert named("sm103") is TARGETS["sm100"]
    assert target_of(torch.device("cpu")) is INTERPRETER


def test_an_unknown_target_is_an_error_that_lists_the_known():
    with pytest.raises(ConfigError, match=r"for the target sm30: choose among \['gfx1100'"):
        named("sm30")


@pytest.mark.parametrize("target", TARGETS.values(), ids=lambda t: t.name)
def test_a_target_is_named_as_its_compiler_calls_it(target):
    assert target.name == (target.arch if target.backend == "hip" else f"sm{target.arch}")
    assert target.matrix
