"""Requests that others must not notice."""

from __future__ import annotations

import asyncio
import json

import pytest
from checked_load import GREEDY, checked_load, until
from raw_http import RawClient

CLIENTS = 20
ENDLESS = "{% for a in range(1000000) %}{% for b in range(1000000) %}{% endfor %}{% endfor %}"


async def ask(server, path, body):
    async with RawClient(server.port, path, body) as client:
        return await client.read()


def message(answer):
    return json.loads(answer.received.partition(b"\r\n\r\n")[2])["error"]["message"]


def under_load(server, known, scenario):
    """What the scenario returns; all of the load's answers are right."""

    async def run():
        async with checked_load(server.url, CLIENTS, known, "null") as load:
            found = await scenario()
            await until(lambda: load.answered > CLIENTS, "others are answered")
        return load, found

    with server.back_to_baseline():
        load, found = asyncio.run(run())
    assert load.answered
    assert not load.errors
    assert not load.wrong
    return found


def test_an_id_that_is_in_use(server, known):
    body = GREEDY | {"model": "null", "prompt": [46], "max_tokens": 1000, "request_id": "same"}

    async def scenario():
        async with RawClient(server.port, "/v1/completions", body) as first:
            await first.read(parts=1)
            others = await asyncio.gather(*(ask(server, "/v1/completions", body) for _ in range(CLIENTS)))
            await first.read(parts=first.answer.parts + 1)
        return first.answer, others

    first, others = under_load(server, known, scenario)
    assert {answer.status for answer in others} == {400}
    assert all("in use" in message(answer) for answer in others)
    assert (first.status, b'"error"' in first.received) == (200, False)


async def use_all_helpers(server, talk):
    """So many templates at once that each helper has some; they start when they are needed, and stay."""
    bodies = [talk, *[talk | {"chat_template": "{{ messages[0].content }}"}] * 2 * CLIENTS]
    return await asyncio.gather(*(ask(server, "/v1/chat/completions", body) for body in bodies))


def test_a_template_without_end(server, known):
    talk = {"model": "null", "messages": [{"role": "user", "content": "a"}], "max_tokens": 2}

    async def scenario():
        bodies = [talk | {"chat_template": ENDLESS}] * 4 + [talk] * CLIENTS
        found = await asyncio.gather(*(ask(server, "/v1/chat/completions", body) for body in bodies))
        return found[:4], found[4:], await use_all_helpers(server, talk)

    asyncio.run(use_all_helpers(server, talk))
    endless, others, again = under_load(server, known, scenario)
    assert {answer.status for answer in endless} <= {400, 503}
    assert any(answer.status == 400 and "template" in message(answer) for answer in endless)
    assert {answer.status for answer in others} == {200}
    assert {answer.status for answer in again} == {200}


@pytest.mark.parametrize("path", ["/v1/completions"])
def test_words_that_are_forbidden(server, known, path):
    """200 requests, 50 at a time."""
    words = [f"word {index}" for index in range(60)]
    body = {"model": "null", "prompt": [46], "max_tokens": 8, "bad_words": words}

    async def scenario():
        gate = asyncio.Semaphore(50)

        async def one():
            async with gate:
                return await ask(server, path, body)

        return await asyncio.gather(*(one() for _ in range(200)))

    answers = under_load(server, known, scenario)
    assert {answer.status for answer in answers} == {200}
