from __future__ import annotations

import contextlib
import os
import threading

import pytest
import zmq

from kernelet.contracts.stats import StepStats
from kernelet.engine.remote.heartbeat import Heartbeat, Progress
from kernelet.engine.remote.messages import Codec


class Clock:
    now = 10.0

    def __call__(self):
        return self.now


def test_progress_says_how_long_the_present_step_has_taken():
    clock = Clock()
    progress = Progress(clock)
    assert (progress.pulse().busy, progress.pulse().age) == (False, 0.0)
    progress.working()
    clock.now += 3
    assert (progress.pulse().busy, progress.pulse().age) == (True, 3.0)
    progress.working()
    assert progress.pulse().age == 0.0
    progress.idle()
    clock.now += 100
    assert (progress.pulse().busy, progress.pulse().age) == (False, 0.0)


def test_progress_brings_the_totals():
    progress = Progress()
    progress.totals.add([StepStats(step=1, num_running=1, num_waiting=0, num_decode_tokens=4)], [])
    assert progress.pulse().totals.num_decode_tokens == 4


@pytest.fixture
def beating(place):
    context, (orphan, parent), orphaned = zmq.Context(), os.pipe(), threading.Event()
    progress = Progress()

    def end():
        orphaned.set()
        orphaned.ended = True
        threading.Event().wait(0.2)

    heart = Heartbeat(context, place.pulse(0), progress, 0.05, orphan, end)
    heart.start()
    with context.socket(zmq.SUB) as listener:
        listener.subscribe(b"")
        listener.connect(place.pulse(0))
        yield heart, progress, listener, parent, orphaned
    heart.stop()
    context.term()
    os.close(orphan)
    with contextlib.suppress(OSError):
        os.close(parent)


def test_pulses_come_while_nobody_else_does_anything(beating):
    _, progress, listener, _, orphaned = beating
    pulse = Codec().pulse
    assert listener.poll(60_000)
    assert not pulse(listener.recv()).busy
    progress.working()
    while not pulse(listener.recv()).busy:
        assert listener.poll(60_000)
    assert not orphaned.is_set()


def test_the_parents_end_is_noticed(beating):
    _, _, _, parent, orphaned = beating
    os.close(parent)
    assert orphaned.wait(60)
