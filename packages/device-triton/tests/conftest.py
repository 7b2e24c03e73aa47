"""Interprets kernels on the CPU, each test in a process of its own, as the tests of packages with kernels do."""

from __future__ import annotations

import importlib
import os
from pathlib import Path

import pytest

from kernelet_device_triton.testing import INTERPRET, run_in_child

os.environ[INTERPRET] = "1"  # before any test imports the language
importlib.import_module("kernelet_device_triton.interpreter").repair()


def pytest_collection_finish():
    os.environ.pop(INTERPRET, None)  # it is not for tests of others


@pytest.fixture(autouse=True)
def interpreted(monkeypatch):
    monkeypatch.setenv(INTERPRET, "1")


def pytest_runtest_protocol(item, nextitem):
    if "PYTEST_XDIST_WORKER" in os.environ or not item.path.is_relative_to(Path(__file__).parent):
        return None  # this hook is asked about the tests of others too
    run_in_child(item)
    return True
