"""Wrong stat loggers."""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import Any, cast

import pytest

from kernelet.contracts.offer import Settings
from kernelet.contracts.serving import Exposition
from kernelet.contracts.stats import EngineInfo, FinishedRequest, StatLoggerOffer, StepStats
from kernelet.testing.faults import Fault
from kernelet.testing.offered import Offered
from kernelet.testing.stat_logger.reference import CountingLogger
from kernelet.testing.stat_logger.suite import StatLoggerCapabilities, StatLoggerSuite


def suite_of(logger: type[Any]) -> type[StatLoggerSuite]:
    """The suite as the author of that logger writes it."""

    class Faulty(StatLoggerSuite):
        capabilities = StatLoggerCapabilities(read=lambda made: cast("CountingLogger", made).sums)

        @pytest.fixture
        def offered(self) -> Offered[StatLoggerOffer]:
            offer = StatLoggerOffer(name="faulty", target=f"{logger.__module__}:{logger.__qualname__}", api="2.0")
            return Offered(offer=offer, settings=Settings(plugin="faulty", values={"level": 1}), target=logger)

    return Faulty


class NotALogger:
    def __init__(self, settings: Settings, engine: EngineInfo) -> None:
        """Takes what a logger takes."""

    def close(self) -> None:
        """Does what a logger does."""


class Rate(CountingLogger):
    def log(self) -> None:
        self.rate = self.sums["num_decode_tokens"] / self.sums["seconds"]


class First(CountingLogger):
    def record_finished(self, request: FinishedRequest) -> None:
        super().record_finished(request)
        self.waited = request.first_token_s - request.queue_s  # type: ignore[operator]


class DecodesOnly(CountingLogger):
    def record(self, stats: StepStats) -> None:
        if stats.num_decode_tokens:
            super().record(stats)


class Slow(CountingLogger):
    def record_finished(self, request: FinishedRequest) -> None:
        super().record_finished(request)
        time.sleep(0.005)


class SlowLog(CountingLogger):
    def log(self) -> None:
        if 0 < self.sums["num_prompt_tokens"] < 10**6:
            time.sleep(0.3)


class Once(CountingLogger):
    closed = False

    def close(self) -> None:
        if self.closed:
            raise RuntimeError("closed already")
        self.closed = True


class Leaves(CountingLogger):
    def __init__(self, settings: Settings, engine: EngineInfo) -> None:
        super().__init__(settings, engine)
        threading.Thread(target=threading.Event().wait, args=(5,), daemon=True).start()


class LeavesOpen(CountingLogger):
    def __init__(self, settings: Settings, engine: EngineInfo) -> None:
        super().__init__(settings, engine)
        self.file = os.open(__file__, os.O_RDONLY)


class Shared(CountingLogger):
    all_sums: dict[str, dict[str, float]] = {"": {}}  # noqa: RUF012 - the fault

    def __init__(self, settings: Settings, engine: EngineInfo) -> None:
        super().__init__(settings, engine)
        self.sums = self.all_sums.setdefault(engine.model, self.sums) if engine.index else self.sums
        self.all_sums[engine.model] = self.sums


class Remembers(CountingLogger):
    def __init__(self, settings: Settings, engine: EngineInfo) -> None:
        super().__init__(settings, engine)
        self.steps: list[StepStats] = []

    def record(self, stats: StepStats) -> None:
        super().record(stats)
        self.steps.append(stats)


class TakesOut(CountingLogger):
    def __init__(self, settings: Settings, engine: EngineInfo) -> None:
        super().__init__(settings, engine)
        self.level = cast("dict[str, Any]", settings.values).pop("level", 0)


class Prints(CountingLogger):
    def record(self, stats: StepStats) -> None:
        super().record(stats)
        print(stats.step)  # noqa: T201 - the fault


class ShowsText(CountingLogger):
    def exposition(self) -> Any:
        return f"steps {self.sums['steps']}"


class CountsScrapes(CountingLogger):
    scrapes = 0

    def exposition(self) -> Exposition:
        self.scrapes += 1
        return Exposition(content_type="text/plain", body=b"scrapes %d" % self.scrapes)


class Handles(CountingLogger):
    def __init__(self, settings: Settings, engine: EngineInfo) -> None:
        super().__init__(settings, engine)
        signal.signal(signal.SIGTERM, lambda *_: self.close())


_PLANTED: tuple[tuple[str, type[Any], str], ...] = (
    ("is-no-logger", NotALogger, "is no StatLogger"),
    ("divides-by-no-time", Rate, "it raised ZeroDivisionError"),
    ("expects-a-first-token", First, "it raised TypeError"),
    ("counts-decoding-steps-only", DecodesOnly, "steps must be exact"),
    ("blocks-in-record-finished", Slow, "record_finished() must return at once"),
    ("blocks-in-log", SlowLog, "log() must not block"),
    ("closes-once", Once, "close() may be called twice"),
    ("leaves-a-thread", Leaves, "close() must end the threads that the logger started"),
    ("leaves-a-file-open", LeavesOpen, "close() must close the files and sockets that the logger opened"),
    ("adds-up-two-engines", Shared, "of two engines must be told apart"),
    ("prints-every-step", Prints, "record() must not print"),
    ("shows-text", ShowsText, "exposition() must return an Exposition"),
    ("counts-scrapes", CountsScrapes, "exposition() must show the same until something is recorded"),
    ("handles-signals", Handles, "a logger must install no signal handlers"),
    ("keeps-every-step", Remembers, "a logger must not keep every step in memory"),
    ("takes-its-settings-apart", TakesOut, "a logger must not change its settings nor what it is told"),
)

FAULTS = tuple(Fault(name=name, suite=suite_of(logger), says=says) for name, logger, says in _PLANTED)
