from __future__ import annotations

import threading

from kernelet_kv_transfer.tasks import Tasks


def test_one_thread_keeps_the_order_and_ends_with_what_was_put():
    done = []
    tasks = Tasks("test", 1)
    for number in range(100):
        tasks.put(lambda number=number: done.append(number))
    assert tasks.close(60)
    assert done == list(range(100))


def test_an_end_does_not_wait_for_ever():
    tasks, release = Tasks("test", 2), threading.Event()
    tasks.put(release.wait)
    assert not tasks.close(0.05)
    release.set()
    assert tasks.close(60)
