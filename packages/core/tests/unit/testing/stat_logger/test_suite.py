from __future__ import annotations

import time

import pytest
from kit import run_suites

from kernelet.testing.stat_logger.faults import suite_of
from kernelet.testing.stat_logger.reference import CountingLogger
from kernelet.testing.stat_logger.suite import StatLoggerCapabilities, StatLoggerSuite, open_files, shortest


def test_the_reference_passes(tmp_path):
    listener = run_suites([suite_of(CountingLogger)], tmp_path)
    assert not listener.messages
    tests = [name for name in dir(StatLoggerSuite) if name.startswith("test_")]
    assert listener.passed == {0: len(tests)}, "each of them ran"


def test_what_is_read_back_is_judged(tmp_path):
    readers = (lambda logger: {}, lambda logger: {"tokens": 1}, lambda logger: {"steps": logger.sums["steps"] + 1})
    suites = [
        type("Reads", (suite_of(CountingLogger),), {"capabilities": StatLoggerCapabilities(read=read)})
        for read in readers
    ]
    listener = run_suites(suites, tmp_path, "-k", "counts_right")
    said = [listener.messages[index][0] for index in range(3)]
    assert "must return some of steps, finished" in said[0]
    assert "returned 'tokens'; it may return" in said[1]
    assert "steps must be exact" in said[2]


def test_files_that_are_open(tmp_path):
    if not open_files():
        pytest.skip("the system does not tell")
    before = open_files()
    with (tmp_path / "new").open("w"):
        (new,) = open_files() - before
        assert new.endswith("/new")
    assert open_files() <= before


def test_the_shortest_of_several():
    calls = []

    def call():
        calls.append(1)
        time.sleep(0.02 if len(calls) < 5 else 0.001)

    assert 0.001 <= shortest(call) < 0.02
