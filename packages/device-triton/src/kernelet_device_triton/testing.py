"""For tests of packages with kernels: where these run, and processes that a bad pointer may kill.

Nothing here imports the language: ``conftest.py`` sets TRITON_INTERPRET first.
"""

from __future__ import annotations

import os
import pickle
import signal
from collections.abc import Iterator
from typing import Any, NoReturn

import pytest
import torch
from _pytest.runner import runtestprotocol

INTERPRET = "TRITON_INTERPRET"


@pytest.fixture(scope="session")
def some_device() -> Iterator[Any]:
    """One that the compiler knows, else a CPU with an interpreter."""
    if torch.cuda.is_available():
        yield "cuda"
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(INTERPRET, "1")
        yield "cpu"


def run_in_child(item: pytest.Item) -> None:
    """Runs a test in a fork of this process, and reports it."""
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in _reports(item):
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)


def _reports(item: pytest.Item) -> list[pytest.TestReport]:
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
        return [restore(config=item.config, data=one) for one in pickle.loads(said)]  # noqa: S301 - our own child
    died = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else f"exit status {status >> 8}"
    call = pytest.CallInfo.from_call(lambda: _fail(died), "call")
    return [pytest.TestReport.from_item_and_call(item, call)]


def _fail(died: str) -> NoReturn:
    raise RuntimeError(f"the test killed its process: {died}")
