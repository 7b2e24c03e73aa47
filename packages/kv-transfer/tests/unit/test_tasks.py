from __future__ import annotations

import threading

from kernelet_kv_transfer.tasks import Tasks, join


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


def test_joining_waits_for_all_and_no_longer_than_it_may():
    release = threading.Event()
    threads = [threading.Thread(target=release.wait, args=(60,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    assert not join(threads, 0.05)
    release.set()
    assert join(threads, 60) and join([], 0)
