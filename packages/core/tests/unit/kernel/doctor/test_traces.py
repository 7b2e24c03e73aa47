from __future__ import annotations

import signal
import threading

import pytest

from kernelet.kernel.doctor.traces import Traces


def messages(before, said=""):
    return [check.message for check in before.left(said)]


def test_nothing_was_left():
    assert messages(Traces.now(), " \n") == []


@pytest.mark.parametrize("daemon", [True, False])
def test_a_thread(daemon):
    before, end = Traces.now(), threading.Event()
    thread = threading.Thread(target=end.wait, name="mine", daemon=daemon)
    thread.start()
    try:
        (message,) = messages(before)
    finally:
        end.set()
        thread.join()
    assert message.startswith("registration left the thread 'mine'")
    assert ("keeps the process from ending" in message) is not daemon


def test_a_signal_handler():
    before, handler = Traces.now(), signal.getsignal(signal.SIGUSR1)
    signal.signal(signal.SIGUSR1, lambda *_: None)
    try:
        (message,) = messages(before)
    finally:
        signal.signal(signal.SIGUSR1, handler)
    assert message == "registration replaced the handler of SIGUSR1, which belongs to the process"


def test_what_was_printed():
    (message,) = messages(Traces.now(), "hello\n" + "x" * 200)
    assert message == f"registration printed 'hello {'x' * 74}...': stdout belongs to answers; use logging"
