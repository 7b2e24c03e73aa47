"""Generations of engines, in one place: what a frontend that did not start them sees."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest
import zmq

from kernelet.contracts.serving import EngineHealth
from kernelet.engine.remote.line import Line, RemoteOptions
from kernelet.engine.remote.messages import Abort, StartFailed
from kernelet.engine.remote.switchboard import Switchboard
from kernelet.errors import EngineDeadError, InsufficientMemoryError
from kernelet.executor.failures import Failure
from kernelet.request.status import FinishReason

OPTIONS = RemoteOptions(heartbeat_interval=0.05)


class Listener:
    """Writes down what it is told."""

    def __init__(self):
        self.told, self.oversleeps = [], 0
        self.pulses = []

    def on_started(self, started):
        self.told.append("started")

    def on_pulse(self, pulse):
        self.pulses.append(pulse)

    def on_message(self, message):
        self.told.append(type(message).__name__)

    def on_time(self):
        return EngineHealth(state="ready")

    def on_oversleep(self):
        self.oversleeps += 1

    def on_death(self, error):
        self.told.append(str(error))


@pytest.fixture
def listener():
    return Listener()


@pytest.fixture
def line(place, listener):
    line = Line(place, 1, OPTIONS, None, listener)
    yield line
    line.stop(1.0)


def test_it_follows_from_one_engine_to_the_next(place, line, listener, running_engine, until):
    with running_engine(place) as first:
        assert line.start().plan_digest == "p"
        until(lambda: len(listener.pulses) > 2)
        assert not line.restarting
    until(lambda: any("the engine" in told for told in listener.told))
    assert "shut down" in listener.told[-1] or "its process ended" in listener.told[-1]
    stale = line.encode(Abort(request_ids=["a"], reason=FinishReason.ABORT))
    before = first.server
    with running_engine(place, generation=1) as second:
        until(lambda: listener.told.count("started") == 2)
        assert second.server is not before
        line.send(stale)
        assert [peer.index for peer in second.board.peers] == [1]
    assert not line.restarting


def test_who_comes_late_finds_the_engine_of_now(place, line, running_engine):
    with running_engine(place), running_engine(place, generation=12):
        assert line.start().plan_digest == "p"
        assert line._generation == 12


def test_another_plan_is_another_engine(place, line, listener, running_engine, until):
    with running_engine(place):
        line.start()
    with running_engine(place, generation=1, digest="other") as second:
        until(lambda: second.board.peers)
        time.sleep(0.2)
        assert listener.told.count("started") == 1


def test_a_start_that_fails_raises_its_own_error(place, line):
    context = zmq.Context()
    board = Switchboard(context, place, place.data(0))
    pipe = place.make_pipe(place.engine_pipe(0))
    failure = Failure(kinds=["kernelet.errors:InsufficientMemoryError"], message="too little")

    def serve():
        while not board.peers:
            list(board.receive(60.0))
        board.send(board.peers[0], StartFailed(failure=failure))
        line._connection.find_pipe()
        time.sleep(0.1)
        os.close(pipe)

    thread = threading.Thread(target=serve)
    thread.start()
    line._options = RemoteOptions(heartbeat_interval=0.01)
    with pytest.raises(InsufficientMemoryError, match="too little"):
        line.start()
    thread.join(60)
    board.close()
    context.term()


def test_who_was_not_running_itself_knows_it(place, line, listener, running_engine, until, monkeypatch):
    from kernelet.engine.remote import line as module

    with running_engine(place):
        line.start()
        assert listener.oversleeps == 0
        monkeypatch.setattr(module, "OVERSLEPT_SECONDS", -1.0)
        until(lambda: listener.oversleeps)


def test_a_bug_in_a_listener_stops_nobody(place, line, listener, running_engine, until, caplog):
    def broken(pulse):
        raise RuntimeError("a bug")

    good, listener.on_pulse = listener.on_pulse, broken
    with running_engine(place):
        line.start()
        until(lambda: "could not be handled" in caplog.text)
        listener.on_pulse = good
        until(lambda: listener.pulses)


def test_nothing_is_left_behind(place, listener, running_engine):
    fds = len(list(Path("/proc/self/fd").iterdir()))
    with running_engine(place):
        line = Line(place, 1, OPTIONS, None, listener)
        line.start()
        line.stop(1.0)
        assert listener.told[-1] == str(EngineDeadError("the engine was shut down"))
        assert not list(Path(place.folder).glob("frontend-*"))
        line.send(b"x")
    assert len(list(Path("/proc/self/fd").iterdir())) <= fds
