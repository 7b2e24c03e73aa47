"""Interprets kernels on the CPU, each test in a process of its own: a bad pointer kills that test alone.

Workers of pytest-xdist are such processes already: one that dies fails its test and is replaced.
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path

import pytest

from kernelet_device_triton.testing import INTERPRET, run_in_child

os.environ[INTERPRET] = "1"  # before any test imports the language
importlib.import_module("kernelet_device_triton.interpreter").repair()

IN_CI = ("test_no_rows", "test_knows_its_layer", "test_prepare_takes_nothing_away")
"""Tests of suites that CI runs; the interpreter takes minutes for all of them, and the others are `long`."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        if item.path == Path(__file__).parent / "test_conformance.py" and not _is_in_ci(item):
            item.add_marker(pytest.mark.long)


def pytest_collection_finish():
    os.environ.pop(INTERPRET, None)  # it is not for tests of others


@pytest.fixture(autouse=True)
def interpreted(monkeypatch):
    monkeypatch.setenv(INTERPRET, "1")


def _is_in_ci(item):
    return item.cls.__name__ == "TestPackage" or item.originalname in IN_CI


def pytest_runtest_protocol(item, nextitem):
    if "PYTEST_XDIST_WORKER" in os.environ or not item.path.is_relative_to(Path(__file__).parent):
        return None  # this hook is asked about the tests of others too
    run_in_child(item)
    return True
