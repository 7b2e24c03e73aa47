from __future__ import annotations

import asyncio

import pytest

from kernelet_server_openai.serving import disconnect
from kernelet_server_openai.serving.disconnect import ABORT, Answer, stop, until_gone

START = {"type": "http.response.start", "status": 200, "headers": []}
BODY = {"type": "http.response.body", "body": b"x"}


class Client:
    """Reads what is sent, if it reads at all; ``gone`` is set when it goes away."""

    def __init__(self):
        self.sent = []
        self.gone = asyncio.Event()
        self.reads = asyncio.Event()
        self.reads.set()
        self.cuts = []
        cut = {"call": lambda: self.cuts.append(True)}
        self.scope = {"type": "http", "state": {"log": {}}, "extensions": {ABORT: cut}}

    async def receive(self):
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message):
        await self.reads.wait()
        self.sent.append(message)

    async def call(self, work, client_timeout=0.0):
        await Answer(work, client_timeout)(self.scope, self.receive, self.send)
        assert len(asyncio.all_tasks()) == 1

    @property
    def was_noted(self):
        return self.scope["state"]["log"].get("disconnected", False)


def test_work_that_comes_to_its_end():
    async def work():
        client = Client()

        async def answer(send):
            await send(START)
            await send(BODY)

        await client.call(answer)
        assert client.sent == [START, BODY]
        assert not client.was_noted

    asyncio.run(work())


def test_a_client_that_goes_away_ends_the_work():
    async def work():
        client, ended = Client(), []

        async def answer(send):
            try:
                client.gone.set()
                await asyncio.Event().wait()
            finally:
                ended.append(True)

        await client.call(answer)
        assert ended
        assert client.was_noted
        assert not client.cuts

    asyncio.run(work())


def test_what_the_work_raises_is_raised():
    async def work():
        async def answer(send):
            raise ValueError("wrong")

        with pytest.raises(ValueError, match="wrong"):
            await Client().call(answer)

    asyncio.run(work())


def test_a_client_that_goes_after_the_last_message_was_served():
    async def work():
        client, ended = Client(), []

        async def answer(send):
            await send(START)
            await send(BODY)
            client.gone.set()
            await asyncio.sleep(0.01)
            ended.append(True)

        await client.call(answer)
        assert ended
        assert not client.was_noted

    asyncio.run(work())


def test_a_client_that_does_not_read_is_left(monkeypatch, caplog):
    monkeypatch.setattr(disconnect, "WATCH_SECONDS", 0.01)

    async def work():
        client = Client()
        client.reads.clear()

        async def answer(send):
            await send(START)

        await client.call(answer, 0.02)
        assert client.was_noted
        assert client.cuts == [True]

    asyncio.run(work())
    assert "unread" in caplog.text


def test_who_waits_for_the_engine_is_not_left(monkeypatch):
    monkeypatch.setattr(disconnect, "WATCH_SECONDS", 0.01)

    async def work():
        client = Client()

        async def answer(send):
            await asyncio.sleep(0.1)
            await send(START)
            await send(BODY)

        await client.call(answer, 0.02)
        assert len(client.sent) == 2

    asyncio.run(work())


def test_an_answer_that_is_cancelled_ends_its_work():
    async def work():
        client, ended = Client(), []

        async def answer(send):
            try:
                await asyncio.Event().wait()
            finally:
                ended.append(True)

        calling = asyncio.ensure_future(client.call(answer))
        await asyncio.sleep(0.01)
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        assert ended

    asyncio.run(work())


def test_messages_before_the_client_goes():
    messages = [{"type": "http.request"}, {"type": "http.disconnect"}]

    async def receive():
        return messages.pop(0)

    asyncio.run(until_gone(receive))
    assert not messages


def test_work_that_fails_while_it_is_stopped_is_logged(caplog):
    async def work():
        async def fail():
            try:
                await asyncio.Event().wait()
            finally:
                raise ValueError("at the end")

        task = asyncio.ensure_future(fail())
        await asyncio.sleep(0)
        await stop(task)
        await stop(task)

    asyncio.run(work())
    assert "at the end" in caplog.text
