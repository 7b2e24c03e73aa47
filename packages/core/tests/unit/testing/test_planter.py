from __future__ import annotations

import importlib
import subprocess
import sys
from dataclasses import replace
from importlib.metadata import distribution

from kernelet.testing.planter import PlantedDistribution, pack, plant

PLANTED = PlantedDistribution(
    name="planted-thing",
    files={"planted_thing/__init__.py": "", "planted_thing/plugin.py": "found = 7\n"},
    entry_points={"kernelet.plugins": {"thing": "planted_thing.plugin"}, "other": {"a": "b"}},
    version="2.1",
    requires=("kernelet-core>=0.1", "numpy; extra == 'fast'"),
    headers=("License-Expression: MIT",),
    metadata={"licenses/LICENSE": "yes"},
)


def test_it_is_what_an_installer_leaves(tmp_path, monkeypatch):
    plant(tmp_path, replace(PLANTED, unrecorded=frozenset({"planted_thing/__init__.py"})))
    monkeypatch.syspath_prepend(str(tmp_path))
    found = distribution("planted-thing")
    assert (found.version, found.requires) == ("2.1", ["kernelet-core>=0.1", "numpy; extra == 'fast'"])
    assert {(point.group, point.name, point.value) for point in found.entry_points} == {
        ("kernelet.plugins", "thing", "planted_thing.plugin"),
        ("other", "a", "b"),
    }
    assert found.metadata["License-Expression"] == "MIT"
    assert found.read_text("licenses/LICENSE") == "yes"
    recorded = {str(file): file for file in found.files}
    assert "planted_thing/__init__.py" not in recorded
    file = recorded["planted_thing/plugin.py"]
    assert (file.size, file.hash.mode) == (10, "sha256")
    assert importlib.import_module("planted_thing.plugin").found == 7


def test_pip_installs_its_wheel(tmp_path):
    wheel = pack(tmp_path / "wheels", PLANTED)
    assert wheel.name == "planted_thing-2.1-py3-none-any.whl"
    options = ["--no-deps", "--no-index", "--quiet", "--target", str(tmp_path / "here")]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, str(wheel)], check=True)
    assert (tmp_path / "here/planted_thing/plugin.py").read_text() == "found = 7\n"
