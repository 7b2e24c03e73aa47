"""The budget is held: tests/run.py complains when it must."""

from __future__ import annotations

import importlib.util

import pytest
from workspace import ROOT


@pytest.fixture(scope="module")
def run():
    specification = importlib.util.spec_from_file_location("run", ROOT / "tests/run.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_within(run):
    assert run.over_budget({"core": 9.0, "workspace": 0.0}, {"core": 10, "workspace": 5}, 15) == []


@pytest.mark.parametrize(
    "seconds, total, word",
    [
        ({"core": 10.1}, 15, "core used 10.1 s of 10 s"),
        ({"new": 0.1}, 15, "new has no seconds"),
        ({"core": 1.0}, 14, "more than its total"),
    ],
)
def test_beyond(run, seconds, total, word):
    (complaint,) = run.over_budget(seconds, {"core": 10, "workspace": 5}, total)
    assert word in complaint


def test_seconds_are_counted_by_distribution(pytestconfig):
    plugin = pytestconfig.pluginmanager.get_plugin(str(ROOT / "conftest.py"))
    assert plugin.distribution_of("packages/core/tests/unit/test_errors.py::test_x") == "core"
    assert plugin.distribution_of("tests/packaging/test_wheels.py::test_x") == "workspace"
    assert plugin.distribution_of("tests/matrix/test_matrix.py::test_x") == "matrix"
    assert all((ROOT / "tests" / folder).is_dir() for folder in plugin.FOLDERS)


def test_tests_that_share_something_costly_run_in_one_process(pytestconfig):
    plugin = pytestconfig.pluginmanager.get_plugin(str(ROOT / "conftest.py"))
    assert plugin.group_of("tests/matrix/test_matrix.py::test_x[a/b]") == "tests/matrix"
    assert plugin.group_of("tests/docs/test_docs.py::test_x") == "tests/docs/test_docs.py"
    assert (
        plugin.group_of("packages/core/tests/unit/test_errors.py::test_x") == "packages/core/tests/unit/test_errors.py"
    )
    assert all((ROOT / "tests" / folder).is_dir() for folder in plugin.SHARING)
