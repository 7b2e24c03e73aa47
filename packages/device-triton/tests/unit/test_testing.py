from __future__ import annotations

import os
import subprocess
import sys

TESTS = """
import os

import pytest

from kernelet_device_triton.testing import INTERPRET, some_device


def test_passes(some_device):
    assert some_device in {"cpu", "cuda"}


def test_is_interpreted():
    assert os.environ[INTERPRET] == "1"


def test_fails():
    assert False


def test_dies():
    os.kill(os.getpid(), 11)


def test_leaves():
    os._exit(3)
"""
SUITES = """
class TestPackage:
    def test_it(self): pass

class TestOps:
    def test_short(self): pass

    def test_many(self): pass

class TestOther:
    def test_short(self): pass
"""
CONFTEST = """
from kernelet_device_triton import testing

testing.interpret()
interpreted = testing.interpreted
pytest_collection_finish = testing.pytest_collection_finish
pytest_runtest_protocol = testing.pytest_runtest_protocol
pytest_collection_modifyitems = testing.suites_in_ci(__file__, "TestOps.test_short")
"""


def ask_pytest(folder, *arguments):
    (folder / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = long\n", encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        *arguments,
        str(folder),
    ]
    variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return subprocess.run(command, env=variables, cwd=folder, check=False, capture_output=True, text=True)


def test_a_test_that_kills_its_process_fails_alone(tmp_path):
    (tmp_path / "test_it.py").write_text(TESTS, encoding="utf-8")
    run = ask_pytest(tmp_path, "-rA")
    assert "2 passed" in run.stdout, run.stdout + run.stderr
    assert "3 failed" in run.stdout
    assert "the test killed its process: SIGSEGV" in run.stdout
    assert "the test killed its process: exit status 3" in run.stdout


def test_suites_are_long_but_for_those_named(tmp_path):
    (tmp_path / "test_conformance.py").write_text(SUITES, encoding="utf-8")
    run = ask_pytest(tmp_path, "--collect-only", "-m", "not long")
    found = {line.rpartition(".py::")[2] for line in run.stdout.splitlines() if "::" in line}
    assert found == {"TestPackage::test_it", "TestOps::test_short"}, run.stdout + run.stderr
