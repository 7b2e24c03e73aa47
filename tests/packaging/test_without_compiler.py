"""The CPU platform's wheel where nothing can be compiled: it computes with torch, and says so once."""

from __future__ import annotations

import json
import zipfile

import pytest
from environments import Environment, build_wheel
from workspace import ROOT

SAID = "platform-cpu was installed without its own kernels"


@pytest.mark.long
def test_it_works_and_says_so_once(tmp_path, smollm2_path):
    wheel = build_wheel(
        ROOT / "packages/platform-cpu", tmp_path / "own", CXX="/nonexistent", CC="/nonexistent", SKBUILD_CMAKE_DEFINE=""
    )
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert "kernelet_platform_cpu/device.py" in names
    assert not [name for name in names if name.endswith(".so")]

    others = [build_wheel(ROOT / "packages" / name, tmp_path / "wheels") for name in ("core", "models-decoder")]
    environment = Environment(tmp_path / "environment", wheel, *others)
    prompt = ("--prompt", "The capital of France is", "--max-tokens", "4", "--temperature", "0", "--json")
    script = "import sys; sys.stderr = sys.stdout; from kernelet.cli.main import main; sys.exit(main())"
    said = environment.run("-c", script, "run", str(smollm2_path), *prompt)
    assert said.count(SAID) == 1
    answer = json.loads(said[said.index("{") :])
    assert "Paris" in answer["text"]
