"""For tests of packages with kernels: where these run, and processes that a bad pointer may kill.

The ``conftest.py`` of such a package interprets its kernels on the CPU, each test in a process of its own::

    testing.interpret()
    interpreted = testing.interpreted
    pytest_collection_finish = testing.pytest_collection_finish
    pytest_runtest_protocol = testing.pytest_runtest_protocol
    pytest_collection_modifyitems = testing.suites_in_ci(__file__, "TestOps.test_no_rows")
"""

from __future__ import annotations

import importlib
import os
import pickle
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest
import torch
from _pytest.runner import runtestprotocol

INTERPRET = "TRITON_INTERPRET"
_COLLECTING = pytest.MonkeyPatch()


@pytest.fixture(scope="session")
def some_device() -> Iterator[Any]:
    """One that the compiler knows, else a CPU with an interpreter."""
    if torch.cuda.is_available():
        yield "cuda"
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(INTERPRET, "1")
        yield "cpu"


def interpret() -> None:
    """Kernels that are imported until the end of the collection are interpreted, rightly."""
    _COLLECTING.setenv(INTERPRET, "1")
    importlib.import_module("kernelet_device_triton.interpreter").repair()


def pytest_collection_finish() -> None:
    _COLLECTING.undo()  # it is not for tests of others


@pytest.fixture(autouse=True)
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test of the folder that names it in its ``conftest.py`` interprets kernels."""
    monkeypatch.setenv(INTERPRET, "1")


def suites_in_ci(conftest: str, *names: str) -> Callable[[list[pytest.Item]], None]:
    """A hook ``pytest_collection_modifyitems``: the suites are `long` but for these tests, ``Class.test`` or ``test``.

    The interpreter takes minutes for all of them. What suites ask of the package itself is always run.

    Args:
        conftest: The file that calls this; the suites are in ``test_conformance.py`` beside it.
        names: Those that CI runs.
    """
    suites = Path(conftest).parent / "test_conformance.py"

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
        for item in items:
            if item.path == suites and not _is_named(item, names):
                item.add_marker(pytest.mark.long)

    return pytest_collection_modifyitems


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """A bad pointer kills its test alone; workers of pytest-xdist are such processes already, and are replaced."""
    if hasattr(item.config, "workerinput") or "interpreted" not in getattr(item, "fixturenames", []):
        return None  # this hook is asked about the tests of others too
    run_in_child(item)
    item.session._setupstate.teardown_exact(nextitem)  # noqa: SLF001 - of what earlier tests left for this one
    return True


def run_in_child(item: pytest.Item) -> None:
    """Runs a test in a fork of this process, and reports it."""
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in _reports(item):
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)


def _is_named(item: pytest.Item, names: tuple[str, ...]) -> bool:
    suite, test = getattr(item, "cls", None), getattr(item, "originalname", "")
    owner = suite.__name__ if suite else ""
    return owner == "TestPackage" or test in names or f"{owner}.{test}" in names


def _reports(item: pytest.Item) -> list[pytest.TestReport]:
    theirs, ours = os.pipe()
    child = os.fork()
    if not child:
        os.close(theirs)
        torch.set_num_threads(1)  # those of OpenMP are not there in a fork, which would wait for them
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
