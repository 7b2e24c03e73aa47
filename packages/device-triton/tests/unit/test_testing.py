from __future__ import annotations

import os
import subprocess
import sys

TESTS = """
import os

import pytest

from kernelet_device_triton.testing import run_in_child, some_device


def test_passes(some_device):
    assert some_device in {"cpu", "cuda"}


def test_fails():
    assert False


def test_dies():
    os.kill(os.getpid(), 11)


def test_leaves():
    os._exit(3)
"""
HOOK = """
from kernelet_device_triton.testing import run_in_child


def pytest_runtest_protocol(item, nextitem):
    run_in_child(item)
    return True
"""


def test_a_test_that_kills_its_process_fails_alone(tmp_path):
    (tmp_path / "test_it.py").write_text(TESTS, encoding="utf-8")
    (tmp_path / "conftest.py").write_text(HOOK, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", "-p", "no:xdist", str(tmp_path)]
    variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    run = subprocess.run(command, env=variables, cwd=tmp_path, check=False, capture_output=True, text=True)
    assert "1 passed" in run.stdout, run.stdout + run.stderr
    assert "3 failed" in run.stdout
    assert "the test killed its process: SIGSEGV" in run.stdout
    assert "the test killed its process: exit status 3" in run.stdout
