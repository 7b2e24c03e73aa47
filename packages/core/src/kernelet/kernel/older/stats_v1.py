"""Stat loggers of stats 1.x: made with their settings alone."""

from __future__ import annotations

from collections.abc import Callable

from kernelet.contracts.offer import Settings
from kernelet.contracts.stats import EngineInfo, StatLogger, StatLoggerOffer
from kernelet.kernel.older.base import Older, above


class StatLoggerV1(StatLogger):
    """The base class as it was."""

    engine: EngineInfo

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings, self.engine)


def today(target: type[StatLogger]) -> Callable[[Settings, EngineInfo], StatLogger]:
    """What makes a logger as stats 2.0 does."""

    def make(settings: Settings, engine: EngineInfo) -> StatLogger:
        old: Callable[[Settings], StatLogger] = above(target, StatLoggerV1, engine=engine)
        return old(settings)

    return make


OLDER = Older(offer=StatLoggerOffer, major=1, interface=StatLogger, base=StatLoggerV1, today=today)
