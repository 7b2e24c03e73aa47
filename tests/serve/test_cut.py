"""A second signal: requests that still run are told that they are cut, in OpenAI's shape."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal

import pytest
from checked_load import until
from raw_http import RawClient

LONG = {"model": "null", "max_tokens": 4000, "ignore_eos": True, "temperature": 0}
TALK = {"messages": [{"role": "user", "content": "a"}]}
BODIES = [
    ("/v1/completions", LONG | {"prompt": [46], "n": 2}),
    ("/v1/completions", LONG | {"prompt": [[46], [47]]}),
    ("/v1/chat/completions", LONG | TALK),
]
SLOW = "--set", "probe_plugin:plugin.step_seconds=0.03"
"""None of them ends before the last one has come: 4,000 steps take two minutes at least."""
CHOICES = 5
"""Of all bodies together."""
COPIES = 4
"""Of each body, streamed and whole: more than there are places, so that some of them wait."""


def error_of(answer):
    """The last event of a stream, or the body."""
    if answer.parts:
        *_, last, done, end = answer.received.split(b"\n\n")
        assert (done.endswith(b"data: [DONE]"), end) in {(True, b""), (True, b"\r\n"), (True, b"\r\n0\r\n\r\n")}
        return json.loads(last.partition(b"data: ")[2])["error"]
    assert answer.status == 503
    return json.loads(answer.received.partition(b"\r\n\r\n")[2])["error"]


def in_engine(server):
    """Choices that run or wait."""
    levels = server.metrics()
    return sum(levels[key] for key in levels if "requests_running" in key or "requests_waiting" in key)


async def first_of(streams):
    """A stream that has begun: which one is first is the frontends' affair."""
    reading = {asyncio.create_task(client.read(parts=1)): client for client in streams}
    done, waiting = await asyncio.wait(reading, return_when=asyncio.FIRST_COMPLETED)
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    return [reading[task] for task in done]


async def early(clients):
    """What clients got that should not have got anything whole yet."""
    waiting = [asyncio.wait_for(client.read(), 0.2) for client in clients]
    await asyncio.gather(*waiting, return_exceptions=True)
    return "\n".join(f"{client.answer.status} {client.answer.received[:300]!r}" for client in clients)


@pytest.mark.long
def test_streams_end_with_an_error_and_whole_answers_are_one(serve):
    async def run(server):
        clients = [
            RawClient(server.port, path, body | {"stream": stream})
            for path, body in BODIES
            for stream in (True, False)
            for _ in range(COPIES)
        ]
        async with contextlib.AsyncExitStack() as stack, asyncio.TaskGroup() as group:
            for client in clients:
                await stack.enter_async_context(client)
            try:
                await until(lambda: in_engine(server) == 2 * COPIES * CHOICES, "all are there")
            except TimeoutError:
                pytest.fail(f"{in_engine(server)} came:\n{await early(clients)}\n{server.log[-2000:]}")
            begun = await first_of([client for client in clients if b'"stream": true' in client.sent])
            server.process.send_signal(signal.SIGTERM)
            await asyncio.to_thread(server.wait, lambda: "no new requests" in server.log, 60, "the first signal")
            server.process.send_signal(signal.SIGTERM)
            reading = [group.create_task(client.read()) for client in clients]
        return [task.result() for task in reading], [client.answer for client in begun]

    flags = "--api-server-count", 2, "--shutdown-timeout", 3600, *SLOW
    with serve(*flags) as server:
        server.wait(lambda: "frontends: 2" in server.log, 60, "both frontends serve")
        answers, begun = asyncio.run(run(server))
        assert server.process.wait(60) == 128 + signal.SIGTERM
        log = server.log.partition("no new requests")[2]
    assert all(answer.status == 200 for answer in begun)
    for answer in answers:
        error = error_of(answer)
        assert error["type"] == "server_error"
        assert "shutting down" in error["message"]
    assert "killed" not in log
    assert "Traceback" not in log
    assert "requests are cut" in log
