"""Each distribution builds a wheel that is complete by itself."""

from __future__ import annotations

import configparser
import json
import os
import subprocess
import venv
import zipfile
from email.parser import Parser

import pytest
from environments import build_wheel
from workspace import distributions


def build(distribution, folder):
    """Builds the wheel in this environment, which has every backend."""
    return build_wheel(distribution.folder, folder / distribution.name)


@pytest.mark.parametrize("distribution", distributions(), ids=lambda d: d.name)
def test_wheel_holds_what_it_must_and_nothing_else(distribution, tmp_path):
    wheel = build(distribution, tmp_path)
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        info = next(name.partition("/")[0] for name in names if ".dist-info/" in name)
        metadata = Parser().parsestr(archive.read(f"{info}/METADATA").decode())
        points = configparser.ConfigParser(delimiters="=")
        points.optionxform = str
        if f"{info}/entry_points.txt" in names:
            points.read_string(archive.read(f"{info}/entry_points.txt").decode())
    source = distribution.folder / "src"
    assert {module.path.as_posix() for module in distribution.modules} <= names
    assert {path.relative_to(source).as_posix() for path in source.rglob("*.jinja")} <= names
    assert f"{distribution.package}/py.typed" in names
    assert f"{info}/licenses/LICENSE" in names
    assert {name.partition("/")[0] for name in names} == {distribution.package, info}
    assert (metadata["Name"], metadata["Version"]) == (
        f"kernelet-{distribution.name}",
        distribution.metadata["version"],
    )
    assert metadata["License-Expression"] == "Apache-2.0"
    if distribution.name == "core":
        assert dict(points["console_scripts"]) == {"kernelet": "kernelet.cli.main:main"}
    elif distribution.is_plugin:
        assert dict(points["kernelet.plugins"]) == {distribution.name: f"{distribution.package}.plugin"}
    else:
        assert "kernelet.plugins" not in points


@pytest.mark.long
@pytest.mark.network
def test_wheels_work_in_an_empty_environment(tmp_path, smollm2_path):
    """Core, a platform and a model family, each from its wheel, with what pip brings: an answer of the demo model."""
    wanted = {"core", "platform-cpu", "models-decoder"}
    wheels = [str(build(d, tmp_path)) for d in distributions() if d.name in wanted]
    venv.create(tmp_path / "env", with_pip=True)
    environment = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    scripts = tmp_path / "env" / "bin"

    def run(*command):
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run(scripts / "python", "-m", "pip", "install", "--quiet", *wheels)
    assert run(scripts / "kernelet", "--version").strip().endswith("0.1.0")
    plugins = json.loads(run(scripts / "kernelet", "plugins", "list", "--json"))
    assert {plugin["name"]: plugin["state"] for plugin in plugins} == dict.fromkeys(wanted, "active")
    options = ("--prompt", "The capital of France is", "--max-tokens", "4", "--temperature", "0", "--json")
    answer = json.loads(run(scripts / "kernelet", "run", str(smollm2_path), *options))
    assert len(answer["token_ids"]) == 4
    assert "Paris" in answer["text"]
