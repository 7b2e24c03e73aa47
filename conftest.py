"""What every test of the workspace shares: reproducible hypothesis runs and the seconds each distribution uses."""

from __future__ import annotations

import contextlib
import importlib
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).parent
FOLDERS = ("examples", "matrix", "templates")
"""Folders of tests/ that build wheels and environments, each with seconds of its own."""
SHARING = (*FOLDERS, "e2e", "lifecycle", "release", "serve")
"""Folders of tests/ whose files share something costly: one process runs all of them."""

settings.register_profile(
    "kernelet",
    deadline=None,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("kernelet")

with pytest.MonkeyPatch.context() as before:
    # Kernels are interpreted or not as the variable was when the language was imported, which torch also does.
    before.setenv("TRITON_INTERPRET", "1")
    with contextlib.suppress(ImportError):
        importlib.import_module("triton.language")


def distribution_of(nodeid: str) -> str:
    """Whose seconds a test uses: of packages/<p> p's, a folder of tests/ may have its own, all else the workspace's."""
    first, _, rest = nodeid.partition("/")
    folder = rest.partition("/")[0]
    return folder if first == "packages" or (first == "tests" and folder in FOLDERS) else "workspace"


def group_of(nodeid: str) -> str:
    """Which tests one process of a parallel run (pytest-xdist) runs together: a file, or a folder that shares."""
    path = nodeid.partition("::")[0]
    first, folder = path.split("/")[:2]
    return f"{first}/{folder}" if first == "tests" and folder in SHARING else path


class Stopwatch:
    """Adds up setup, call and teardown of each distribution's tests and writes them where tests/run.py reads them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.seconds: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        owner = distribution_of(report.nodeid)
        self.seconds[owner] = self.seconds.get(owner, 0.0) + report.duration

    def pytest_sessionfinish(self) -> None:
        self.path.write_text(json.dumps(self.seconds), encoding="utf-8")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--seconds-to", type=Path, default=None, help="write the seconds used by distribution, as JSON")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from xdist.scheduler import LoadScopeScheduling

    class Groups(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return group_of(nodeid)

    return Groups(config, log)


def pytest_configure(config: pytest.Config) -> None:
    path = config.getoption("--seconds-to")
    if path is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Stopwatch(path), "kernelet-stopwatch")


def pytest_report_header(config: pytest.Config) -> str:
    return f"hypothesis: profile kernelet, seed {config.getoption('--hypothesis-seed')}"


@pytest.fixture(autouse=True)
def _log_of_its_own() -> Iterator[None]:
    """Who sets up kernelet's log, as commands do, does so for that test alone."""
    log = logging.getLogger("kernelet")
    before = log.handlers[:], log.propagate, log.level, log.disabled
    yield
    log.handlers[:], log.propagate, log.level, log.disabled = before
