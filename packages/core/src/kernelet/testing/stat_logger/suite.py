"""The suite of stat loggers: they take everything, count it right, never stand in the way, and leave nothing behind."""

from __future__ import annotations

import contextlib
import gc
import io
import math
import signal
import threading
import time
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelet.contracts.serving import Exposition
from kernelet.contracts.stats import EngineInfo, StatLogger, StatLoggerOffer, StepStats
from kernelet.testing.offered import Offered
from kernelet.testing.search import SEARCH
from kernelet.testing.stat_logger.reference import Sums, totals
from kernelet.testing.stat_logger.reports import FINISHED, STEPS, Report, engine, mixed, null_run, report
from kernelet.testing.suite import Suite
from kernelet.testing.verdict import ConformanceError, check

Make = Callable[[EngineInfo], StatLogger]

RECORD_SECONDS, LOG_SECONDS, CLOSE_SECONDS = 0.003, 0.25, 5.0
"""What a call may take at most, on a machine that has other things to do."""

MANY = 4000
KEPT_BYTES = 16
"""Bytes a step that a logger may hold on to: less than any record of it."""

OPEN_FILES = Path("/proc/self/fd")


@dataclass(frozen=True, kw_only=True)
class StatLoggerCapabilities:
    """What can be held against the truth.

    Attributes:
        read: What a logger counted, read once it was closed, from it or from where it wrote to: some of ``steps``,
            ``finished``, ``finished_<reason>``, and sums of fields by their name (``num_decode_tokens``, ``total_s``).
            None: nothing can be read back.
    """

    read: Callable[[StatLogger], Mapping[str, float]] | None = None


class StatLoggerSuite(Suite):
    """Fixture ``offered``: ``find_offer("acme_kernelet.plugin", StatLoggerOffer)``."""

    capabilities: ClassVar[StatLoggerCapabilities] = StatLoggerCapabilities()

    @pytest.fixture
    def offered(self) -> Offered[StatLoggerOffer]:
        raise NotImplementedError("give the fixture `offered`: find_offer('your_package.plugin', StatLoggerOffer)")

    @pytest.fixture
    def make(self, offered: Offered[StatLoggerOffer]) -> Make:
        """Makes a logger as an engine does once it has started."""

        def make(info: EngineInfo) -> StatLogger:
            logger = offered.target(offered.settings, info)
            check(isinstance(logger, StatLogger), f"{offered.offer.target} is no StatLogger")
            assert isinstance(logger, StatLogger)
            return logger

        return make

    def test_takes_whatever_is_reported(self, make: Make) -> None:
        logger = make(engine())

        @SEARCH
        @given(reports=st.lists(STEPS | FINISHED, max_size=8))
        def takes(reports: Sequence[Report]) -> None:
            try:
                logger.log()
                report(logger, reports)
                logger.log()
            except Exception as error:
                raise ConformanceError(
                    f"a logger must take whatever an engine reports, in any order: it raised {error!r}"
                ) from error

        try:
            takes()
        finally:
            logger.close()

    def test_changes_nothing_that_others_are_given(self, make: Make, offered: Offered[StatLoggerOffer]) -> None:
        settings, info = dict(offered.settings.values), engine()
        reports = mixed(null_run(seed=1), seed=1)
        before = msgspec.to_builtins([info, *reports])
        logger = make(info)
        report(logger, reports)
        close(logger)
        check(
            before == msgspec.to_builtins([info, *reports]) and settings == dict(offered.settings.values),
            "a logger must not change its settings nor what it is told: others are given the same objects",
        )

    def test_counts_right(self, make: Make) -> None:
        got = null_run(seed=1)
        assert got.total("num_preempted") > 0
        assert got.total("prefix_hits") > 0
        logger = make(engine())
        for index, one in enumerate(mixed(got, seed=2)):
            report(logger, [one])
            if index % 50 == 0:
                logger.log()
        close(logger)
        self.hold(logger, totals(got.steps, got.finished), "{} must be exact: it is {} where the engine reported {}")

    def test_engines_side_by_side(self, make: Make) -> None:
        runs = [null_run(seed=1), null_run(seed=2)]
        loggers = [make(engine(0)), make(engine(1))]
        queues = [mixed(got, seed=2) for got in runs]
        for index in range(max(map(len, queues))):
            for logger, queue in zip(loggers, queues, strict=True):
                report(logger, queue[index : index + 1])
        for logger in loggers:
            close(logger)
        for logger, got in zip(loggers, runs, strict=True):
            sentence = "{} of two engines must be told apart (EngineInfo.index): it is {} where one reported {}"
            self.hold(logger, totals(got.steps, got.finished), sentence)

    def hold(self, logger: StatLogger, truth: Sums, sentence: str) -> None:
        """Compares what can be read back."""
        if self.capabilities.read is None:
            pytest.skip("the capabilities do not say how to read back what was counted")
        found = self.capabilities.read(logger)
        check(found, f"StatLoggerCapabilities.read must return some of {', '.join(truth)}")
        for name, value in found.items():
            check(name in truth, f"StatLoggerCapabilities.read returned {name!r}; it may return {', '.join(truth)}")
            check(math.isclose(value, truth[name], rel_tol=1e-6), sentence.format(name, value, truth[name]))

    def test_never_stands_in_the_way(self, make: Make) -> None:
        got = null_run(seed=1)
        logger = make(engine())
        try:
            for call, reports in (("record()", got.steps[:10]), ("record_finished()", got.finished[:10])):
                check(
                    shortest(lambda reports=reports: report(logger, reports)) / 10 < RECORD_SECONDS,  # type: ignore[misc]
                    f"{call} must return at once, it is called between steps: hand slow work to a thread",
                )
            check(shortest(logger.log) < LOG_SECONDS, "log() must not block: hand slow work to a thread")
        finally:
            started = time.perf_counter()
            logger.close()
        check(time.perf_counter() - started < CLOSE_SECONDS, "close() must not wait for longer than an operator does")

    def test_shows_what_can_be_scraped(self, make: Make) -> None:
        got = null_run(seed=1)
        logger = make(engine())
        try:
            for reports in ([], got.steps[:5], got.finished[:5]):
                report(logger, reports)
                first, second = logger.exposition(), logger.exposition()
                check(
                    first is None or isinstance(first, Exposition),
                    "exposition() must return an Exposition (a content type and bytes) or None",
                )
                check(first == second, "exposition() must show the same until something is recorded")
            check(shortest(logger.exposition) < LOG_SECONDS, "exposition() must not block: it is called between steps")
        finally:
            logger.close()

    def test_leaves_the_process_alone(self, make: Make) -> None:
        before, printed = handlers(), io.StringIO()
        logger = make(engine())
        try:
            changed = [number for number, handler in handlers().items() if handler != before[number]]
            for number in changed:
                signal.signal(number, before[number])
            check(not changed, "a logger must install no signal handlers: signals are for the program that it is in")
            with contextlib.redirect_stdout(printed):
                report(logger, mixed(null_run(seed=1), seed=2)[:50])
        finally:
            logger.close()
        check(
            not printed.getvalue(),
            "record() must not print: the standard output is the program's, use `logging` in log()",
        )

    def test_keeps_no_record_of_every_step(self, make: Make) -> None:
        logger = make(engine())
        try:
            remember(logger, MANY // 4)  # what is kept for ever is there
            tracing = tracemalloc.is_tracing()
            if not tracing:
                tracemalloc.start()
            before = tracemalloc.get_traced_memory()[0]
            remember(logger, MANY)
            grown = tracemalloc.get_traced_memory()[0] - before
            if not tracing:
                tracemalloc.stop()
        finally:
            logger.close()
        check(grown < MANY * KEPT_BYTES, "a logger must not keep every step in memory: an engine runs for months")

    def test_leaves_nothing_behind(self, make: Make) -> None:
        close(make(engine()))  # whatever a library starts once for the process
        threads, files = set(threading.enumerate()), open_files()
        logger = make(engine())
        report(logger, mixed(null_run(seed=1), seed=2))
        close(logger)
        deadline = time.monotonic() + 2
        while left := set(threading.enumerate()) - threads:
            check(time.monotonic() < deadline, "close() must end the threads that the logger started")
            for thread in left:
                thread.join(0.05)
        gc.collect()
        check(open_files() <= files, "close() must close the files and sockets that the logger opened")

    def test_closes_twice_and_unused(self, make: Make) -> None:
        unused, used = make(engine()), make(engine(1))
        report(used, mixed(null_run(seed=1), seed=2))
        close(used)
        close(unused)
        for logger in (used, unused):
            try:
                logger.close()
            except Exception as error:
                raise ConformanceError(f"close() may be called twice: the second call raised {error!r}") from error


def handlers() -> dict[signal.Signals, Any]:
    """What each signal does; those whose handler was not installed by Python are left out."""
    found = {number: signal.getsignal(number) for number in signal.Signals}
    return {number: handler for number, handler in found.items() if handler is not None}


def close(logger: StatLogger) -> None:
    """The end of an engine."""
    logger.log()
    logger.close()


def remember(logger: StatLogger, count: int) -> None:
    """Reports steps that nobody else holds on to."""
    for index in range(count):
        logger.record(StepStats(step=index, num_running=index % 7, num_waiting=0, num_decode_tokens=index % 5))
        if index % 500 == 0:
            logger.log()


def shortest(call: Callable[[], object]) -> float:
    """Seconds of the fastest of several calls: what it costs when nothing else runs."""
    found = math.inf
    for _ in range(5):
        started = time.perf_counter()
        call()
        found = min(found, time.perf_counter() - started)
    return found


def open_files() -> set[str]:
    """What this process has open, where the system tells."""
    if not OPEN_FILES.exists():
        return set()
    found = set()
    for link in OPEN_FILES.iterdir():
        try:
            found.add(f"{link.name} {link.readlink()}")
        except OSError:  # the folder itself, which was open while it was listed
            continue
    return found
