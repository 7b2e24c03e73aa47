from __future__ import annotations

import threading

import pytest

from kernelet.engine.structured import lanes as module
from kernelet.engine.structured.lanes import QUICK, SLOW, TOGETHER, Job, Lanes
from kernelet.errors import SandboxBusyError


class Work:
    """Jobs that run until they are told to end, and what became of them."""

    def __init__(self, lanes):
        self.lanes, self.changed = lanes, threading.Condition()
        self.began, self.failed, self.ends, self.gives_way = [], {}, set(), set()

    def add(self, name):
        job = Job(lambda: self._run(name), lambda error: self._note(lambda: self.failed.update({name: str(error)})))
        self.lanes.add(job)
        return job

    def _run(self, name):
        self._note(lambda: self.began.append(name))
        with self.changed:
            assert self.changed.wait_for(lambda: name in self.ends | self.gives_way, 60)
            if name in self.gives_way:
                self.gives_way.discard(name)
                return True
        return False

    def _note(self, what):
        with self.changed:
            what()
            self.changed.notify_all()

    def end(self, *names):
        self._note(lambda: self.ends.update(names))

    def give_way(self, name):
        self._note(lambda: self.gives_way.add(name))

    def until(self, *names):
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.began) >= len(names), 60)
        assert sorted(self.began) == sorted(names)


@pytest.fixture
def now():
    return [0.0]


@pytest.fixture
def work(now):
    lanes = Lanes(lambda: now[0])
    work = Work(lanes)
    yield work
    lanes.close()
    work.end(*"abcdefghij")
    lanes.close()


def test_so_many_run_at_a_time_and_the_others_in_their_order(work):
    for name in "abcd":
        work.add(name)
    work.until(*"ab")
    work.end("a")
    work.until(*"abc")
    assert work.began[-1] == "c"
    work.end("b", "c")
    work.until(*"abcd")


def test_jobs_that_take_long_leave_room_for_others(work):
    """Two go on, a third does so while nobody waits behind it, and gives way to who comes."""
    jobs = {name: work.add(name) for name in "abcd"}
    work.until(*"ab")
    assert [work.lanes.may_go_on(jobs[name]) for name in "ab"] == [True, True]
    work.until(*"abc")
    assert not work.lanes.may_go_on(jobs["c"])
    work.give_way("c")
    work.until(*"abcd")
    assert work.lanes.may_go_on(jobs["d"])
    assert (jobs["c"].is_slow, jobs["d"].is_slow) == (True, False)
    work.end("d")
    work.add("e")
    work.until(*"abcde")
    work.end("a")
    work.until(*"abccde")
    assert QUICK + SLOW > TOGETHER > max(QUICK, SLOW)


def test_what_waits_can_be_removed(work):
    jobs = {name: work.add(name) for name in "abcd"}
    work.until(*"ab")
    assert [work.lanes.remove(jobs[name]) for name in "ac"] == [False, True]
    assert not work.lanes.remove(jobs["c"])
    work.end("a")
    work.until(*"abd")


def test_too_many_are_refused(work, monkeypatch):
    monkeypatch.setattr(module, "MAX_WAITING", 2)
    for name in "abcd":
        work.add(name)
    with pytest.raises(SandboxBusyError, match=r"^2 other constraints wait to be compiled: try again later$"):
        work.add("e")


def test_what_waited_too_long_fails(work, now):
    for name in "abc":
        work.add(name)
    work.until(*"ab")
    now[0] = 31.0
    work.end("a")
    with work.changed:
        assert work.changed.wait_for(lambda: work.failed, 60)
    assert work.failed == {"c": "the constraint waited for 31 s for others: try again later"}


def test_nothing_begins_once_it_is_closed(work):
    for name in "abc":
        work.add(name)
    work.until(*"ab")
    work.lanes.close()
    work.end("a", "b")
    work.lanes.close()
    work.add("d")
    assert sorted(work.began) == ["a", "b"]
