"""Plugins that raise in a server under load."""

from __future__ import annotations

import asyncio

from checked_load import checked_load
from raw_http import RawClient

CLIENTS = 20


def test_an_endpoint_fails_alone(server, known):
    async def ask(path):
        async with RawClient(server.port, path, {}) as client:
            return await client.read()

    async def run():
        async with checked_load(server.url, CLIENTS, known, "null") as load:
            early = await asyncio.gather(*(ask("/broken/early") for _ in range(CLIENTS)))
            late = await asyncio.gather(*(ask("/broken/late") for _ in range(CLIENTS)))
        return load, early, late

    with server.back_to_baseline():
        load, early, late = asyncio.run(run())
    assert {answer.status for answer in early} == {500}
    assert all(b'"error"' in answer.received for answer in early)
    assert {answer.status for answer in late} == {200}, "its answer had begun"
    assert not any(answer.received.endswith(b"0\r\n\r\n") for answer in late), "it must not look complete"
    assert load.answered
    assert not load.errors
    assert not load.wrong


def test_a_stat_logger_is_switched_off_with_one_error(server):
    """It raised while the server warmed up."""
    assert server.log.count("broken-logger failed and is switched off") == 1
    assert any("running" in name for name in server.metrics()), "the others go on"
