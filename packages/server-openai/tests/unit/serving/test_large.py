from __future__ import annotations

import asyncio
import subprocess
import sys
import threading

import pytest

from kernelet_server_openai.serving import large
from kernelet_server_openai.serving.large import BURST, GIVE_BACK_BYTES, LARGE, THREADS, LargeWork

LEFT_BEHIND = """
import asyncio, os, sys

from kernelet_server_openai.serving.large import LargeWork

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 2**20

async def main():
    work = LargeWork()
    await work.run(2**20, lambda: None)
    before = resident()
    # pieces too small to be mapped each by itself, the last of which would hold all below it
    pieces = await work.run(2**20, lambda: [b"x" * 60_000 for _ in range(4000)])
    mine = [b"x" * 60_000 for _ in range(2000)]
    high, last = resident(), (pieces[-1], mine[-1])
    error = [pieces]
    error.append(error)
    del pieces, error, mine
    work.done(2**20)
    await asyncio.sleep(0.1)
    for _ in range(600):
        if resident() - before < 32:
            break
        await asyncio.sleep(0.1)
    print(high - before, resident() - before)
    work.close()

asyncio.run(main())
"""


def with_work(function):
    async def main():
        work = LargeWork()
        try:
            return await function(work)
        finally:
            work.close()

    return asyncio.run(main())


@pytest.mark.parametrize("size, is_aside", [(0, False), (LARGE - 1, False), (LARGE, True)])
def test_what_takes_long_is_not_done_on_the_event_loop(size, is_aside):
    here = threading.current_thread()
    found = with_work(lambda work: work.run(size, threading.current_thread))
    assert (found is not here) is is_aside
    aside = with_work(lambda work: work.run_aside(size, threading.current_thread))
    assert aside is not here
    assert aside.name.startswith("large") is is_aside


def test_no_more_than_some_threads_work_at_once():
    async def main(work):
        lock, running, most = threading.Lock(), 0, 0
        together = threading.Barrier(THREADS)

        def one():
            nonlocal running, most
            with lock:
                running += 1
                most = max(most, running)
            together.wait(60)
            with lock:
                running -= 1

        await asyncio.gather(*(work.run(LARGE, one) for _ in range(4 * THREADS)))
        return most

    assert with_work(main) == THREADS


def test_what_is_raised_comes_through():
    with pytest.raises(ZeroDivisionError):
        with_work(lambda work: work.run(LARGE, lambda: 1 // 0))


def test_memory_is_given_back_once_nothing_large_comes(monkeypatch):
    monkeypatch.setattr(large, "GIVE_BACK_SECONDS", 0.01)
    given, come = [], threading.Event()

    def trim():
        given.append(threading.current_thread())
        come.set()

    monkeypatch.setattr(large, "trimmer", lambda: trim)

    async def main(work):
        work.done(GIVE_BACK_BYTES - 1)
        await asyncio.sleep(0.05)
        assert given == []
        for _ in range(3):
            work.done(GIVE_BACK_BYTES)
        assert await asyncio.to_thread(come.wait, 60)
        await asyncio.sleep(0.05)
        assert len(given) == 1
        assert given[0] is not threading.current_thread()

    with_work(main)


@pytest.mark.parametrize("count", [BURST - 1, BURST])
def test_memory_is_given_back_after_many_requests_at_once(monkeypatch, count):
    monkeypatch.setattr(large, "GIVE_BACK_SECONDS", 0.0)
    come = threading.Event()
    monkeypatch.setattr(large, "trimmer", lambda: come.set)

    async def main(work):
        for _ in range(count):
            work.begin()
        for _ in range(count):
            assert not come.is_set(), "most of them are still there"
            work.done(1)
        if count < BURST:
            await asyncio.sleep(0.05)
            return come.is_set()
        return await asyncio.to_thread(come.wait, 60)

    assert with_work(main) == (count == BURST)


def test_nothing_is_given_back_after_the_end(monkeypatch):
    monkeypatch.setattr(large, "GIVE_BACK_SECONDS", 0.0)

    async def main(work):
        work.done(GIVE_BACK_BYTES)
        work.close()
        await asyncio.sleep(0.01)

    with_work(main)


def test_memory_comes_back_to_the_system():
    """In a process of its own: what this one holds would hide it."""
    done = subprocess.run([sys.executable, "-c", LEFT_BEHIND], capture_output=True, text=True, check=True, timeout=240)
    high, after = map(int, done.stdout.split())
    assert high > 300
    assert after < 32
