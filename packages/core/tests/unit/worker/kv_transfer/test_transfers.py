from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait
from threading import Event

import pytest

from kernelet.worker.kv_transfer.transfers import Transfers

SECONDS = 60.0
SHORT = 0.05
"""Something is not done after so long: it may pass by chance, but never fails by chance."""


def may_write(transfers, number):
    with transfers.writing(number) as may:
        return may


def test_a_load_writes_from_its_begin_to_its_end():
    transfers = Transfers()
    assert not may_write(transfers, 3)
    transfers.begin([3, 5])
    assert may_write(transfers, 3)
    assert may_write(transfers, 5)
    transfers.end([3, 8])
    assert [may_write(transfers, number) for number in (3, 5, 8)] == [False, True, False]
    transfers.end([])
    transfers.close()
    assert not may_write(transfers, 5)


class Held:
    """Something that a thread does until it is let go."""

    def __init__(self, pool, context):
        self.inside, self.go = Event(), Event()
        self.future = pool.submit(self.hold, context)
        assert self.inside.wait(SECONDS)

    def hold(self, context):
        with context:
            self.inside.set()
            assert self.go.wait(SECONDS)


def test_the_fence_waits_for_what_is_being_written_and_for_that_alone():
    transfers = Transfers()
    transfers.begin([1, 2])
    with ThreadPoolExecutor() as pool:
        one, two = Held(pool, transfers.writing(1)), Held(pool, transfers.writing(2))
        other = Held(pool, transfers.writing(1))
        fence = pool.submit(transfers.end, [1])
        one.go.set()
        assert not wait([fence], SHORT).done
        assert not may_write(transfers, 1)
        other.go.set()
        fence.result(SECONDS)
        assert not two.future.done()
        two.go.set()


def test_closing_waits_for_readers():
    transfers = Transfers()
    with ThreadPoolExecutor() as pool:
        reader = Held(pool, transfers.reading())
        closed = pool.submit(transfers.close)
        assert not wait([closed], SHORT).done
        reader.go.set()
        closed.result(SECONDS)
    with pytest.raises(RuntimeError, match="the pages are gone"), transfers.reading():
        pass


def test_an_error_inside_is_an_end_too():
    transfers = Transfers()
    transfers.begin([1])
    with pytest.raises(ValueError, match="bad"), transfers.writing(1):
        raise ValueError("bad")
    transfers.end([1])
