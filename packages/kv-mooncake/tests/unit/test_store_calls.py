from __future__ import annotations

import threading

import pytest

from kernelet_kv_mooncake import store_calls
from kernelet_kv_mooncake.store_calls import Calls, UnreachableError


def test_a_call_gives_what_it_gives():
    calls = Calls(60, lambda: True)
    assert calls.call(max, 1, 2) == 2
    with pytest.raises(ZeroDivisionError):
        calls.call(divmod, 1, 0)
    assert not calls.lost


def test_a_late_call_is_the_last_until_a_look_is_answered(monkeypatch, caplog):
    monkeypatch.setattr(store_calls, "PAUSE", 0.01)
    gate, looked, answers = threading.Event(), threading.Semaphore(0), [True, False]

    def look():
        looked.acquire(timeout=60)
        return answers.pop()

    calls = Calls(0.05, look)
    with pytest.raises(UnreachableError):
        calls.call(gate.wait, 60)
    for _ in range(2):
        assert calls.lost
        with pytest.raises(UnreachableError):
            calls.call(max, 1, 2)
        looked.release()
    for _ in range(6000):
        if not calls.lost:
            break
        threading.Event().wait(0.01)
    assert calls.call(max, 1, 2) == 2
    assert caplog.text.count("does not answer") == 1
    gate.set()


def test_after_its_end_nothing_is_said(caplog):
    calls = Calls(0.01, lambda: True)
    calls.close()
    calls.lose("why")
    assert not calls.lost and not caplog.text
