"""Plugins of other majors: a frozen wheel of the older one works, one of a later one is refused, a mixture is told."""

from __future__ import annotations

import json
import subprocess
import zipfile
from pathlib import Path

import pytest
from environments import Environment, build_wheel
from workspace import ROOT

from kernelet.contracts.sampling import SamplerParams
from kernelet.contracts.versions import API_VERSIONS
from kernelet.testing.null.tokens import generate

HERE = Path(__file__).parent
WHEEL = HERE / "older/acme_older-1.0-py3-none-any.whl"
DOMAINS = ("cache", "stats")
LINES = [
    f"{domain} contract v1, deprecated since {domain} 2.0, goes away in kernelet-core 0.3: use v2" for domain in DOMAINS
]
PROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "{name}"
version = "1.0"
dependencies = ["kernelet-core>=0.1"]

[project.entry-points."kernelet.plugins"]
{name} = "{package}"

[project.entry-points."kernelet.api"]
stats = "kernelet.contracts.stats:v{major}"
"""
PLUGIN = """
from __future__ import annotations

from pathlib import Path

from kernelet.contracts.stats import StatLogger, StatLoggerOffer
from kernelet.hookspecs import hookimpl

Path(__file__).with_name("imported").touch()


@hookimpl
def kernelet_stat_loggers():
    return (StatLoggerOffer(name="new", target="{package}:Logger"),)


class Logger(StatLogger):
    def __init__(self, settings, engine):
        super().__init__(settings, engine)

    def record(self, stats): ...

    def record_finished(self, request): ...
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory, wheel_of):
    """Today's core and the frozen wheel, without any other plugin."""
    return Environment(tmp_path_factory.mktemp("older") / "env", wheel_of(ROOT / "packages/core"), WHEEL)


@pytest.fixture
def newer(environment, tmp_path):
    """Installs a plugin with a logger of today's class that states a major and no ``api``; returns its package."""
    installed = []

    def install(name, major):
        package = name.replace("-", "_")
        project = tmp_path / name
        (project / package).mkdir(parents=True)
        (project / "pyproject.toml").write_text(PROJECT.format(name=name, package=package, major=major))
        (project / package / "__init__.py").write_text(PLUGIN.format(package=package))
        environment.install(build_wheel(project, tmp_path / "wheels"))
        installed.append(name)
        return environment.site / package

    yield install
    for name in installed:
        environment.uninstall(name)


def use(environment, folder, **variables):
    """Runs the engine of use_older.py; returns exit status, output and log."""
    folder.mkdir(exist_ok=True)
    command = [environment.python, HERE / "use_older.py", folder]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False, cwd=folder)
    return done.returncode, done.stdout, done.stderr


def test_the_frozen_wheel_is_what_stands_beside_it():
    sources = HERE / "older/src"
    with zipfile.ZipFile(WHEEL) as archive:
        inside = {name: archive.read(name).decode() for name in archive.namelist() if ".dist-info/" not in name}
    assert inside == {str(path.relative_to(sources)): path.read_text() for path in sources.rglob("*.py")}
    assert {API_VERSIONS[domain].major for domain in DOMAINS} == {2}, "it is of no served major: delete it"


def test_an_older_plugin_works_with_todays_core(environment, tmp_path):
    code, out, log = use(environment, tmp_path)
    assert code == 0, log
    got = json.loads(out)
    params = SamplerParams(seed=0, temperature=0.0)
    truth = [generate(prompt["prompt_token_ids"], params, got["vocabulary"], 12) for prompt in got["prompts"]]
    assert got["answers"] == truth
    assert log.count("acme_older.policy:gave up block") > 5
    lines = [json.loads(line) for line in (tmp_path / "lines.jsonl").read_text().splitlines()]
    assert [(line["finish_reason"], line["num_output_tokens"]) for line in lines] == [("length", 12)] * len(truth)
    assert lines[-1]["steps"] > 12
    told = [line for line in log.splitlines() if "deprecated" in line]
    assert len(told) == len(LINES)
    shown = json.loads(environment.kernelet("plugins", "show", "acme-older", "--json"))
    for line, logged, entry in zip(LINES, told, shown["deprecated"], strict=True):
        assert line in logged and "plugin 'acme-older' (acme-older 1.0," in logged
        assert line in entry


def test_a_plugin_for_a_major_to_come_is_refused_and_not_imported(environment, newer, tmp_path):
    package = newer("acme-future", API_VERSIONS["stats"].major + 1)
    code, _, log = use(environment, tmp_path)
    assert code == 0, log
    reason = "acme-future 1.0 needs the contract stats v3, this core serves v1 and v2; it was not imported"
    assert reason in log
    assert not (package / "imported").exists()


def test_a_new_class_that_does_not_say_so(environment, newer, tmp_path):
    newer("acme-unstated", 2)
    code, _, log = use(environment, tmp_path)
    assert code == 0, log
    (told,) = [line for line in log.splitlines() if "acme_unstated:Logger" in line]
    assert "acme-unstated 1.0" in told
    assert (
        "cannot be made with (settings), as its offer says with api='1.0'. It takes (settings, engine), "
        'which is stats 2.0: write StatLoggerOffer(..., api="2.0")'
    ) in told
