"""Clients that go away: 20 of them, while others go on to be served."""

from __future__ import annotations

import asyncio
import contextlib

import pytest
from checked_load import checked_load, until
from raw_http import RawClient

CLIENTS = 20
OTHERS = 4
SLOTS = 8
"""``--max-num-seqs`` of the server."""


def body(stream, choices, *, length=5, count=1500, seed=0):
    prompt = [(seed * 31 + index) % 256 for index in range(length)]
    return {"model": "null", "prompt": prompt, "max_tokens": count, "ignore_eos": True, "stream": stream, "n": choices}


@contextlib.asynccontextmanager
async def clients(server, bodies):
    async with contextlib.AsyncExitStack() as stack:
        yield [await stack.enter_async_context(RawClient(server.port, "/v1/completions", one)) for one in bodies]


async def queued(server, stream):
    """All places are taken by others when they go."""
    async with clients(server, [body(True, 1, seed=place, count=4000) for place in range(SLOTS)]) as holders:
        for holder in holders:
            await holder.read(parts=1)
        async with clients(server, [body(stream, 1 + place % 2, seed=place) for place in range(CLIENTS)]) as waiting:
            await until(lambda: server.level("waiting") >= CLIENTS, "they wait")
            for one in waiting:
                one.vanish()
            await until(lambda: server.level("waiting") <= OTHERS, "none of them waits any more")
        for holder in holders:
            holder.vanish()


async def prefill(server, stream):
    """Their prompts take long."""
    bodies = [body(stream, 1 + place % 2, seed=place, length=3000, count=500) for place in range(CLIENTS)]
    async with clients(server, bodies) as started:
        await until(lambda: server.level("waiting") + server.level("running") >= CLIENTS, "they are there")
        for one in started:
            one.vanish()
        assert not any(one.answer.parts for one in started)


async def decode(server, stream):
    """Some of the answer is there."""
    async with clients(server, [body(stream, 1 + place % 2, seed=place) for place in range(CLIENTS)]) as started:

        async def some(one):
            if stream:
                assert (await one.read(parts=3)).parts >= 3
            one.vanish()

        if not stream:
            await until(lambda: server.level("running") == SLOTS, "they run")
        await asyncio.gather(*map(some, started))


async def after(server, stream):
    """All of the answer is there."""
    async with clients(
        server, [body(stream, 1 + place % 2, seed=place, count=20) for place in range(CLIENTS)]
    ) as started:
        for answer in await asyncio.gather(*(one.read() for one in started)):
            assert answer.status == 200
            assert answer.ended
        for one in started:
            one.vanish()


def aborted(server):
    return sum(value for key, value in server.metrics().items() if '"abort"' in key and "_total" in key)


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize("phase", [queued, prefill, decode, after])
def test_nothing_is_kept_of_them(server, known, phase, stream):
    async def run():
        async with checked_load(server.url, OTHERS, known, "null") as load:
            await phase(server, stream)
        return load

    before = aborted(server)
    with server.back_to_baseline():
        load = asyncio.run(run())
    assert load.answered
    assert not load.errors
    assert not load.wrong
    ended = aborted(server) - before
    assert ended == 0 if phase is after else ended >= CLIENTS
