from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest
import torch

from kernelet_device_torch import build
from kernelet_device_torch.build import torch_build


@pytest.fixture
def planted(tmp_path, monkeypatch):
    def planted(text):
        if text is not None:
            (tmp_path / "version.py").write_text(text)
        spec = SimpleNamespace(origin=str(tmp_path / "__init__.py"))
        monkeypatch.setattr(build, "find_spec", lambda name: spec)

    return planted


@pytest.mark.parametrize("name", ["cuda", "hip"])
def test_it_says_what_torch_says(name):
    version, why = torch_build(name)
    assert version == getattr(torch.version, name)
    assert bool(why) == (version is None)


def test_other_builds(planted):
    planted(
        "from typing import Optional\n__version__ = '9.1'\ndebug = False\ncuda: Optional[str] = '13.0'\nhip = None\n"
    )
    assert torch_build("cuda") == ("13.0", "")
    assert torch_build("hip") == (None, "the installed torch 9.1 was built for another device")


def test_what_cannot_be_read_has_a_reason(planted, monkeypatch):
    planted(None)
    assert "cannot be read" in torch_build("cuda")[1]
    planted("cuda = = 3")
    assert "cannot be read" in torch_build("cuda")[1]
    monkeypatch.setattr(build, "find_spec", lambda name: None)
    assert torch_build("cuda") == (None, "torch is not installed")
    assert "torch" in sys.modules  # by this test; nothing of it was asked
