"""Pieces of the engine's process; whole processes run in ``tests/engine/test_remote.py``."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import zmq

from kernelet.engine.remote.messages import Codec, Hello, StartFailed
from kernelet.engine.remote.process import close, tell_parent
from kernelet.engine.remote.switchboard import Switchboard
from kernelet.executor.failures import Failure


def what_is_set_up():
    return [*map(signal.getsignal, (signal.SIGINT, signal.SIGTERM)), *logging.getLogger("kernelet").handlers]


@pytest.fixture(scope="module", autouse=True)
def before():
    return what_is_set_up()


FAILED = StartFailed(failure=Failure(kinds=["builtins:MemoryError"], message="x"))


def test_the_parent_is_told_even_if_it_comes_late(place):
    context = zmq.Context()
    board = Switchboard(context, place, place.data(0))
    frontend = context.socket(zmq.DEALER)
    frontend.connect(place.data(0))
    pipe = place.make_pipe("alive")
    frontend.send(Codec().encode(Hello(index=0, alive="alive")))
    tell_parent(board, FAILED)
    assert frontend.poll(60_000)
    assert Codec().to_frontend(frontend.recv()) == FAILED
    frontend.close()
    board.close()
    context.term()
    os.close(pipe)


def test_a_parent_that_never_comes_is_not_waited_for(place, monkeypatch):
    from kernelet.engine.remote import process

    monkeypatch.setattr(process, "PARENT_SECONDS", 0.1)
    context = zmq.Context()
    board = Switchboard(context, place, place.data(0))
    tell_parent(board, FAILED)
    board.close()
    context.term()


def test_what_fails_at_the_end_is_logged(caplog):
    def fail():
        raise RuntimeError("late")

    close(fail)
    close(lambda: None)
    assert len(caplog.records) == 1


PROGRAM = """
import logging, os, signal, sys
from types import SimpleNamespace
from kernelet.engine.remote.process import set_up
set_up(SimpleNamespace(log_level=logging.INFO))
os.kill(os.getpid(), signal.SIGINT)
os.kill(os.getpid(), signal.SIGTERM)
logging.getLogger("kernelet.x").info("still here")
logging.getLogger("kernelet.x").debug("too much")
import subprocess
child = "import signal; print(signal.getsignal(signal.SIGTERM) is signal.SIG_DFL)"
subprocess.run([sys.executable, "-c", child], check=True)
"""


def test_interrupts_are_for_the_parent_and_children_get_the_usual():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert done.stderr == "INFO: engine: still here\n"
    assert done.stdout == "True\n"


ORPHAN = """
import sys
from kernelet.engine.remote.meeting import MeetingPlace
from kernelet.engine.remote.process import end_orphaned
end_orphaned(MeetingPlace(sys.argv[1]))
"""


def test_an_orphan_removes_the_folder_and_ends(place):
    done = subprocess.run([sys.executable, "-c", ORPHAN, place.folder], check=False)
    assert done.returncode == 1
    assert not Path(place.folder).exists()


def test_this_process_was_left_alone(before):
    assert what_is_set_up() == before
