"""Runs suites of the test kit inside a test and returns what they say."""

from __future__ import annotations

import contextlib
import io
import itertools
from pathlib import Path

import pytest

from kernelet.testing.faults import Fault
from kernelet.testing.suite import Suite

NUMBER = itertools.count()


class Listener:
    """Keeps the message of each failed test, by the number of its suite."""

    def __init__(self) -> None:
        self.messages: dict[int, list[str]] = {}
        self.passed: dict[int, int] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        index = int(report.nodeid.split("::")[1].removeprefix("Test"))
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            self.messages.setdefault(index, []).append(crash.message if crash else str(report.longrepr))
        elif report.passed and report.when == "call":
            self.passed[index] = self.passed.get(index, 0) + 1


def run_suites(suites: list[type[Suite]], folder: Path, *arguments: str) -> Listener:
    """Runs suites in this process, in one session of pytest.

    Args:
        suites: Complete suites.
        folder: Empty, for the session's files.
        arguments: Further arguments of pytest.
    """
    file = folder / f"test_kit_{next(NUMBER)}.py"
    file.write_text("", encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    listener = Listener()
    with contextlib.redirect_stdout(io.StringIO()) as output:
        code = pytest.main(
            ["-c", str(folder / "pytest.ini"), "-p", "no:cacheprovider", "--hypothesis-seed=1", *arguments, str(file)],
            plugins=[listener, Planter(suites)],
        )
    assert code in {0, 1}, output.getvalue()
    return listener


class Planter:
    """Puts the suites into the collected module."""

    def __init__(self, suites: list[type[Suite]]) -> None:
        self.suites = suites

    def pytest_collectstart(self, collector: pytest.Collector) -> None:
        if isinstance(collector, pytest.Module):
            for index, suite in enumerate(self.suites):
                setattr(collector.obj, f"Test{index}", suite)


def unnoticed(faults: tuple[Fault, ...], folder: Path) -> list[str]:
    """What is wrong with the kit: faults that no test found, or about which it said something else."""
    listener = run_suites([fault.suite for fault in faults], folder, "--maxfail=1000")
    complaints = []
    for index, fault in enumerate(faults):
        said = listener.messages.get(index, [])
        if not any(fault.says in message for message in said):
            complaints.append("\n  ".join((f"{fault.name}: no test says {fault.says!r}, but", *said)))
    return complaints
