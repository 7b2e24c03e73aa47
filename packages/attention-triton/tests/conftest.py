"""Interprets kernels on the CPU, each test in a process of its own: a bad pointer kills that test alone.

Workers of pytest-xdist are such processes already: one that dies fails its test and is replaced.
"""

from __future__ import annotations

import importlib
import os
import pickle
import signal
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol

INTERPRET = "TRITON_INTERPRET"
os.environ[INTERPRET] = "1"  # before any test imports the language
importlib.import_module("kernelet_attention_triton.interpreter").repair()

IN_CI = {
    "TestTritonAttention": {
        "test_copied_blocks",
        "test_empty_step",
        "test_masked_has_no_weight",
        "test_neighbours_do_not_leak",
        "test_pages_are_what_was_stored",
    },
    "TestBatchInvariant": {"test_empty_step"},
}
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
    return item.cls.__name__ == "TestPackage" or item.originalname in IN_CI[item.cls.__name__]


def pytest_runtest_protocol(item, nextitem):
    if "PYTEST_XDIST_WORKER" in os.environ or not item.path.is_relative_to(Path(__file__).parent):
        return None  # this hook is asked about the tests of others too
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in _in_child(item):
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def _in_child(item):
    """Reports of a test that ran in a child."""
    theirs, ours = os.pipe()
    child = os.fork()
    if not child:
        os.close(theirs)
        reports = runtestprotocol(item, nextitem=None, log=False)
        data = [item.config.hook.pytest_report_to_serializable(config=item.config, report=one) for one in reports]
        with os.fdopen(ours, "wb") as pipe:
            pickle.dump(data, pipe)
        os._exit(0)
    os.close(ours)
    with os.fdopen(theirs, "rb") as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    if status == 0:
        restore = item.config.hook.pytest_report_from_serializable
        return [restore(config=item.config, data=one) for one in pickle.loads(said)]
    died = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else f"exit status {status >> 8}"
    call = pytest.CallInfo.from_call(lambda: _fail(died), "call")
    return [pytest.TestReport.from_item_and_call(item, call)]


def _fail(died):
    raise RuntimeError(f"the test killed its process: {died}")
