"""Packages of all kinds make an engine together, and its tokens are those of the model written out."""

from __future__ import annotations

from pathlib import Path

SCRIPT = Path(__file__).with_name("together.py")


def test_ten_plugins_make_an_engine(environment, tmp_path):
    plugins = "+op-acme-demo,+weight-kernel-acme-demo"
    printed = environment.run(str(SCRIPT), cwd=tmp_path, KERNELET_PLUGINS=plugins, OMP_NUM_THREADS="1")
    assert printed.split() == ["finished", "6"]
