"""Too much at once, too slowly read, or too large."""

from __future__ import annotations

import asyncio
import contextlib

import pytest
from checked_load import Load, checked_load, known_requests, until
from raw_http import RawClient

from kernelet.cli.serve_load.client import LoadClient

CLIENTS = 20
SLOW = 6
"""Fewer than the server's places."""
MEBIBYTE = 1 << 20


async def all_at_once(server, requests, limit=600.0):
    """The answers to requests that are sent together."""
    load = Load()
    async with LoadClient(server.url, "/v1/completions", {}, limit) as client:

        async def ask(known):
            load.take(known, await client.ask(known.body | {"model": "null"}))

        await asyncio.gather(*map(ask, requests))
    return load


def right(load, count=1):
    return load.answered >= count and not load.errors and not load.wrong


@pytest.mark.parametrize("count, before", [(400, 0), pytest.param(2000, 2000, marks=pytest.mark.long)])
def test_so_many_requests_at_once(server, known, count, before):
    """The allocator keeps memory of the largest load so far, in which few objects lie scattered: a leak grows again."""
    requests = [known[index % len(known)] for index in range(count)]
    assert right(asyncio.run(all_at_once(server, requests[:before])), before)
    with server.back_to_baseline():
        load = asyncio.run(all_at_once(server, requests))
    assert right(load, count), (load.answered, load.errors, load.wrong[:1])


def test_blocks_for_one_and_a_half_requests(serve):
    """Two never fit at the same time, so some are preempted and computed again."""
    requests = known_requests(CLIENTS, (100,), (100,), seed=3)
    limits = "--max-model-len", 208, "--block-size", 16, "--num-blocks", 21
    with serve(*limits) as server:
        with server.back_to_baseline():
            load = asyncio.run(all_at_once(server, requests))
        assert right(load, CLIENTS), (load.answered, load.errors, load.wrong[:1])
        assert sum(value for name, value in server.metrics().items() if "preempt" in name and "_bucket" not in name) > 0


def test_readers_that_do_not_read(server, known):
    body = {"model": "null", "prompt": [46], "max_tokens": 3000, "ignore_eos": True, "stream": True, "logprobs": 20}

    async def run():
        async with contextlib.AsyncExitStack() as stack:
            slow = [RawClient(server.port, "/v1/completions", body) for _ in range(SLOW)]
            for client in slow:
                await stack.enter_async_context(client)
                await client.read(parts=1)
            async with checked_load(server.url, CLIENTS, known, "null") as load:
                await until(lambda: load.answered >= 3 * CLIENTS, "others are answered")
            for client in slow:
                client.vanish()
        return load

    with server.back_to_baseline():
        load = asyncio.run(run())
    assert right(load)


@pytest.mark.parametrize("stated", [True, False], ids=["stated", "chunked"])
def test_a_body_of_100_mebibytes(server, known, stated):
    size = 100 * MEBIBYTE

    async def send():
        """The status; the server may close the connection before it has all of it."""
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        length = f"Content-Length: {size}" if stated else "Transfer-Encoding: chunked"
        head = f"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n{length}\r\n\r\n"
        writer.write(head.encode())
        part = b"a" * MEBIBYTE
        with contextlib.suppress(ConnectionError):
            for _ in range(size // MEBIBYTE):
                writer.write(part if stated else b"%x\r\n%b\r\n" % (len(part), part))
                await writer.drain()
            if not stated:
                writer.write(b"0\r\n\r\n")
        answer = await reader.readline()
        writer.close()
        return int(answer.split()[1])

    async def run():
        async with checked_load(server.url, CLIENTS, known, "null") as load:
            status = await send()
        return load, status

    with server.back_to_baseline():
        load, status = asyncio.run(run())
    assert status == 413
    assert right(load)
