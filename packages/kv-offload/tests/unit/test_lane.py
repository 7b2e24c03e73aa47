from __future__ import annotations

import threading

import pytest

from kernelet_kv_offload.lane import Lane


def test_in_order_and_all_of_it():
    done = []
    lane = Lane("test")
    for number in range(100):
        lane.submit(lambda number=number: done.append(number))
    lane.close()
    assert done == list(range(100))


def test_drop():
    begun, gate, done = threading.Event(), threading.Event(), []
    lane = Lane("test")
    lane.submit(lambda: (begun.set(), gate.wait(60), done.append(1)))
    lane.submit(lambda: done.append(2))
    assert begun.wait(60)
    closer = threading.Thread(target=lane.close, kwargs={"drop": True})
    closer.start()
    while not lane._dropping:
        closer.join(0.01)
    gate.set()
    closer.join(60)
    assert done == [1]


def test_a_failure_is_kept_and_the_rest_goes_on():
    done = []
    lane = Lane("test")
    lane.check()
    lane.submit(lambda: 1 / 0)
    lane.submit(lambda: done.append(1))
    lane.close()
    assert done == [1]
    with pytest.raises(ZeroDivisionError):
        lane.check()
