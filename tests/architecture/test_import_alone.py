"""Every module can be imported first, without a warning; all but the torch folders also where torch is missing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import workspace
from workspace import ROOT, modules, needs_torch

DRIVER = Path(workspace.__file__).with_name("import_alone.py")


def failures(mode, names):
    command = [sys.executable, str(DRIVER), mode, "torch", *names]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


SHARE = 48
"""Every module takes a tenth of a second: every so many are tried each time, the others in long runs."""


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.long) for part in range(1, SHARE))])
@pytest.mark.parametrize("mode", ["block", "preload"])
def test_every_module_imports_alone(mode, part):
    names = [
        module.name
        for module in modules()
        if needs_torch(module) == (mode == "preload") and module.path.name != "__main__.py"
    ][part::SHARE]
    failed = failures(mode, names)
    report = "\n".join(f"--- {name}\n{message}" for name, message in failed.items())
    assert not failed, f"{len(failed)} of {len(names)} modules cannot be imported alone:\n{report}"


def test_plugins_register_without_torch():
    assert not [str(module) for module in modules() if module.path.name == "plugin.py" and needs_torch(module)]


def test_the_driver_sees_what_it_must(tmp_path, monkeypatch):
    """A missing torch, a warning of our own and a crash are reported; a warning of somebody else is not."""
    (tmp_path / "kernelet_bad_torch.py").write_text("import torch\n")
    (tmp_path / "kernelet_bad_warning.py").write_text("import warnings\nwarnings.warn('x', stacklevel=1)\n")
    (tmp_path / "kernelet_bad_crash.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n")
    (tmp_path / "noisy.py").write_text("import warnings\nwarnings.warn('x', stacklevel=1)\n")
    (tmp_path / "kernelet_good.py").write_text("import noisy\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    bad = ["kernelet_bad_torch", "kernelet_bad_warning", "kernelet_bad_crash"]
    failed = failures("block", [*bad, "kernelet_good"])
    assert list(failed) == bad
    assert "torch" in failed["kernelet_bad_torch"]
    assert "UserWarning" in failed["kernelet_bad_warning"]
    assert "status 9" in failed["kernelet_bad_crash"]
