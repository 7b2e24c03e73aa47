from __future__ import annotations

from kernelet.contracts.offer import Settings
from kernelet.contracts.stats import EngineInfo, StatLogger
from kernelet.kernel.older.stats_v1 import OLDER
from kernelet.testing.stat_logger.reports import engine

SETTINGS = Settings(plugin="p", values={"a": 1})
ENGINE = engine()


class Least(StatLogger):
    def record(self, stats): ...
    def record_finished(self, request): ...


class Calls(Least):
    def __init__(self, settings):
        super().__init__(settings)
        self.seen = settings["a"]


class CallsNothing(Least):
    def __init__(self, settings):
        self.seen = settings["a"]


def test_a_logger_that_takes_settings_alone():
    made = OLDER.today(Calls)(SETTINGS, ENGINE)
    assert isinstance(made, Calls)
    assert (made.settings, made.seen, made.engine) == (SETTINGS, 1, ENGINE)


def test_one_that_does_not_call_its_base():
    assert OLDER.today(CallsNothing)(SETTINGS, ENGINE).seen == 1


def test_one_without_a_constructor():
    assert OLDER.today(Least)(SETTINGS, ENGINE).settings == SETTINGS


def test_two_engines_of_a_process_are_apart():
    make = OLDER.today(Calls)
    one, other = (make(SETTINGS, EngineInfo(**{**as_dict(ENGINE), "index": index})) for index in (0, 1))
    assert (one.engine.index, other.engine.index) == (0, 1)


def as_dict(struct):
    return {name: getattr(struct, name) for name in struct.__struct_fields__}
