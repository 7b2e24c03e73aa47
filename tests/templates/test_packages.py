"""Every kind of `kernelet plugins new`: its package builds, installs, runs, passes its suite and its lint."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from json import loads
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from environments import build_wheel, run
from packaging.metadata import Metadata
from template_plugins import QUICK, generate, package_of
from workspace import ROOT

from kernelet.cli.plugin_name import LONGEST
from kernelet.cli.plugin_template import template_kinds
from kernelet.contracts.versions import API_VERSIONS

KINDS = template_kinds()
SLOW = ("attention", "logits-processor", "model", "op", "platform", "quantization", "quantizer", "weight-format")
"""Their tests take as long as all others' together: ``test_as_its_author_does`` runs them."""
TRIED = [kind for kind in KINDS if kind not in SLOW]


def tool(*command: str, cwd: Path) -> None:
    done = subprocess.run([sys.executable, "-m", *command], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("kind", KINDS)
def test_the_wheel_is_fit_to_be_published(made, kind):
    names, wheel = made.names(kind), made.wheels[kind]
    with zipfile.ZipFile(wheel) as archive:
        files = set(archive.namelist())
        info = next(name.partition("/")[0] for name in files if ".dist-info/" in name)
        metadata = Metadata.from_email(archive.read(f"{info}/METADATA"), validate=True)
    source = package_of(made.projects[kind])
    wanted = {f"{names.package}/{path.relative_to(source)}" for path in source.rglob("*") if path.is_file()}
    assert {name for name in files if not name.startswith(info)} == wanted
    assert {f"{names.package}/{name}" for name in ("plugin.py", "conformance.py", "py.typed")} <= wanted
    assert f"{info}/licenses/LICENSE" in files
    assert (metadata.name, str(metadata.version)) == (names.distribution, "0.1.0")
    assert (metadata.license_expression, metadata.description_content_type) == ("Apache-2.0", "text/markdown")
    assert metadata.description.startswith(f"# {names.distribution}\n")
    assert len(metadata.description) > 800
    core = next(requirement for requirement in metadata.requires_dist if requirement.name == "kernelet-core")
    assert {clause.operator for clause in core.specifier} == {">="}, "a lower bound on the core and no upper one"
    assert metadata.provides_extra == ["testing"]


def test_every_plugin_runs_beside_the_others(made, environment):
    plugins = {made.names(kind).plugin: kind for kind in KINDS}
    rows = loads(environment.kernelet("plugins", "list", "--json", "--plugins", ",".join(plugins)))
    states = {row["name"]: (row["state"], row["reason"]) for row in rows if row["name"] != "core"}
    assert {name: state for name, (state, _) in states.items()} == dict.fromkeys(plugins, "active"), states
    domains = {
        "tool-parser": "parsing",
        "reasoning-parser": "parsing",
        "quantizer": "quant",
    }  # of those a name may be there twice
    found = {row["name"]: {offer.partition(":")[0] for offer in row["offers"]} for row in rows}
    offers = {name: {domains.get(label, label) for label in labels} for name, labels in found.items()}
    for plugin, kind in plugins.items():
        assert offers[plugin] == set(KINDS[kind].api) - {"lifecycle"} <= API_VERSIONS.keys()


def run_tests(made, environment, kinds):
    """The tests of some packages in one process: outcome by class and name, by kind, and what was printed."""
    report = made.folder / f"{kinds[0]}.xml"
    options = [f"--rootdir={made.folder}", "-c", str(made.projects[kinds[0]] / "pyproject.toml")]
    options += [f"--junitxml={report}", "-p", "no:cacheprovider", "-q"]
    tests = [str(made.projects[kind] / "tests") for kind in kinds]
    printed = environment.run("-m", "pytest", *options, *tests, check=False, OMP_NUM_THREADS="1")
    found = {kind: {} for kind in kinds}
    for case in ET.parse(report).iter("testcase"):
        group = case.get("classname")
        kind = next((kind for kind in kinds if made.projects[kind].name in group), None)
        assert kind, printed  # a module that cannot be imported has no class
        ends = {child.tag for child in case}
        outcome = "failed" if ends & {"failure", "error"} else "skipped" if "skipped" in ends else "passed"
        found[kind][group, case.get("name")] = outcome
    return found, printed


@pytest.fixture(scope="module")
def results(made, environment):
    """The tests of the generated packages, run in the environment, half of them on each of two cores."""
    (made.folder / "conftest.py").write_text(QUICK, encoding="utf-8")
    halves = TRIED[::2], TRIED[1::2]
    with ThreadPoolExecutor(2) as pool:
        (one, first), (other, second) = pool.map(lambda kinds: run_tests(made, environment, kinds), halves)
    return one | other, first + second


@pytest.mark.parametrize("kind", TRIED)
def test_conformance_and_own_tests_pass(results, kind):
    found, printed = results
    outcomes = found[kind]
    assert set(outcomes.values()) <= {"passed", "skipped"}, printed
    for suite in KINDS[kind].suites:
        passed = [key for key, outcome in outcomes.items() if key[0].endswith(f".{suite}") and outcome == "passed"]
        assert len(passed) >= 5, printed
    own = [outcome for (group, _), outcome in outcomes.items() if ".unit." in group]
    assert own
    assert set(own) == {"passed"}


def test_the_suites_are_in_the_wheel(made, environment, results):
    """What `doctor --conformance` runs is the same as what the author's tests run."""
    modules = [f"{made.names(kind).package}.conformance" for kind in TRIED]
    listed = environment.run("-m", "pytest", "--pyargs", *modules, "--collect-only", "-q", "-p", "no:cacheprovider")
    collected = {line.split("::", 1)[1] for line in listed.splitlines() if "::" in line}
    in_tests = {
        f"{group.rpartition('.')[2]}::{name}"
        for outcomes in results[0].values()
        for group, name in outcomes
        if ".test_conformance." in group
    }
    assert collected == in_tests
    environment.run("-m", "pytest", "--pyargs", f"{made.names('cache-policy').package}.conformance")


def test_lint_and_format(made, tmp_path):
    """With names as long as they may be, too: no line is too long or too short then."""
    for kind in KINDS:
        generate(kind, f"{kind}-{'x' * (LONGEST - len(kind) - 1)}", tmp_path / "long")
    for folder in (made.folder, tmp_path / "long"):
        tool("ruff", "check", "--no-cache", "--exclude", "conftest.py", ".", cwd=folder)
        tool("ruff", "format", "--no-cache", "--check", "--exclude", "conftest.py", ".", cwd=folder)


def test_types(made, environment, tmp_path):
    """mypy --strict, with the generated configuration, over all sources and tests in one run."""
    sources = [str(package_of(project)) for project in made.projects.values()]
    for project in made.projects.values():
        for test in project.glob("tests/**/*.py"):
            name = f"{package_of(project).name}_{'_'.join(test.relative_to(project).with_suffix('').parts)}.py"
            sources.append(shutil.copyfile(test, tmp_path / name))
    if (cache := ROOT / ".mypy_cache").is_dir():  # of `tests/run.py --only types`: torch takes half a minute otherwise
        shutil.copytree(cache, tmp_path / ".mypy_cache")
    options = ["--config-file", str(made.projects["op"] / "pyproject.toml")]
    environment.run("-m", "mypy", *options, *map(str, sources), cwd=tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_as_its_author_does(tmp_path, environment, kind):
    """Another package of the kind, built by pip, installed beside the others; searches in full, warnings are errors."""
    project = generate(kind, f"acme-other-{kind}", tmp_path)
    environment.install(build_wheel(project, tmp_path / "wheels"))
    run(environment.python, "-m", "pytest", "-W", "error", cwd=project)
    run(environment.python, "-m", "mypy", cwd=project)
