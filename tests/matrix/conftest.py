"""Makes the helpers beside these tests importable; prints the table of what was run."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from matrix_page import table
from matrix_rows import read
from matrix_runner import Runner

RUNNER = pytest.StashKey[Runner]()


@pytest.fixture(scope="session")
def runner(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory, wheel_of: Callable[[Path], Path]
) -> Runner:
    """Runs each set of plugins once a session."""
    pytestconfig.stash[RUNNER] = Runner(read(), tmp_path_factory.mktemp("matrix"), wheel_of)
    return pytestconfig.stash[RUNNER]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    runner = config.stash.get(RUNNER, None)
    if runner is not None and runner.verdicts:
        terminalreporter.section("matrix")
        terminalreporter.write_line(table(runner.matrix, runner.verdicts))
