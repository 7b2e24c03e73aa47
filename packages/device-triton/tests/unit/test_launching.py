from __future__ import annotations

import pytest
import torch

from kernelet.errors import ConfigError
from kernelet_device_triton import launching
from kernelet_device_triton.targets import INTERPRETER


def test_a_cpu_is_interpreted():
    assert launching.target_for(torch.device("cpu")) is INTERPRETER


def test_a_cpu_without_the_interpreter_is_refused(monkeypatch):
    monkeypatch.setattr(launching, "interpreting", lambda: False)
    with pytest.raises(ConfigError, match="TRITON_INTERPRET=1"):
        launching.target_for(torch.device("cpu"))
