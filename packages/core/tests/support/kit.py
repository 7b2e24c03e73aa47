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
    """Keeps the message of each failed test, by the number of its suite.

    Args:
        says: Of each suite, what is waited for: once a message says it, the suite's further tests are skipped.
    """

    def __init__(self, says: tuple[str, ...] = ()) -> None:
        self.says = dict(enumerate(says))
        self.messages: dict[int, list[str]] = {}
        self.passed: dict[int, int] = {}

    def said(self, index: int) -> bool:
        """Whether a suite said what is waited for."""
        return index in self.says and any(self.says[index] in message for message in self.messages.get(index, ()))

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        if self.said(number_of(item.nodeid)):
            pytest.skip("its fault was found")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        index = number_of(report.nodeid)
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            self.messages.setdefault(index, []).append(crash.message if crash else str(report.longrepr))
        elif report.passed and report.when == "call":
            self.passed[index] = self.passed.get(index, 0) + 1


def number_of(nodeid: str) -> int:
    """Number of the suite that a test belongs to."""
    return int(nodeid.split("::")[1].removeprefix("Test"))


def run_suites(suites: list[type[Suite]], folder: Path, *arguments: str, says: tuple[str, ...] = ()) -> Listener:
    """Runs suites in this process, in one session of pytest.

    Args:
        suites: Complete suites.
        folder: Empty, for the session's files.
        arguments: Further arguments of pytest.
        says: See ``Listener``.
    """
    file = folder / f"test_kit_{next(NUMBER)}.py"
    file.write_text("", encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    listener = Listener(says)
    with contextlib.redirect_stdout(io.StringIO()) as output:
        code = pytest.main(
            [
                "-c",
                str(folder / "pytest.ini"),
                "-p",
                "no:cacheprovider",
                "--tb=line",
                "--hypothesis-seed=1",
                "-W",
                "ignore::pytest.PytestUnraisableExceptionWarning",  # of sockets that faulty servers leave
                *arguments,
                str(file),
            ],
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
    says = tuple(fault.says for fault in faults)
    listener = run_suites([fault.suite for fault in faults], folder, "--maxfail=1000", says=says)
    complaints = []
    for index, fault in enumerate(faults):
        if not listener.said(index):
            said = listener.messages.get(index, [])
            complaints.append("\n  ".join((f"{fault.name}: no test says {fault.says!r}, but", *said)))
    return complaints
