"""Clients that vanish in each phase of a request: afterwards nothing of it is left."""

from __future__ import annotations

import asyncio
import json
import os
import time

import pytest
from null_server import LiveServer, null_engine

WAIT = 60.0
LONG = {"max_tokens": 200_000, "ignore_eos": True, "temperature": 0}
BUSY = {"prompt": "busy", **LONG}


@pytest.fixture(scope="module")
def live(tmp_path_factory):
    """One request a step, eight tokens a step: phases last as long as their request."""
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith("KERNELET_"):
                patch.delenv(name)
        engine = null_engine(
            tmp_path_factory.mktemp("null") / "model",
            max_model_len=250_000,
            max_num_seqs=2,
            max_num_batched_tokens=8,
            num_blocks=40_000,
        )
    with LiveServer(engine) as server:
        yield server
    asyncio.run(engine.shutdown())


class Client:
    """A connection whose request is written by hand."""

    def __init__(self, live, body, path="/v1/completions"):
        content = json.dumps(body).encode()
        self.socket = live.connect()
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(content)}\r\n\r\n"
        self.socket.sendall(head.encode() + content)
        self.read = b""

    def read_until(self, part):
        while part not in self.read:
            piece = self.socket.recv(65536)
            assert piece, self.read
            self.read += piece

    def vanish(self):
        self.socket.close()


def wait_for(condition):
    end = time.monotonic() + WAIT
    while not condition():
        assert time.monotonic() < end, "it never came to be"
        time.sleep(0.01)


def last_step(live):
    return live.engine.frontend.client.stats().last


def steps(live):
    return live.engine.frontend.client.stats().num_steps


def is_at_rest(live):
    client = live.engine.frontend.client
    return len(client._sinks) == 0 and not live.engine._open and not client._running.core.has_unfinished()


def assert_nothing_is_left(live):
    wait_for(lambda: is_at_rest(live))
    client = live.engine.frontend.client
    client.reset_prefix_cache()
    assert client._running.core.cache.capacity.usage == 0.0
    wait_for(lambda: not live.server._server.server_state.tasks)


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("phase", ["queued", "prefill", "decode"])
def test_a_client_that_vanishes(live, phase, stream, n):
    before, others = steps(live), []
    if phase == "queued":
        others = [Client(live, {**BUSY, "stream": True}) for _ in range(2)]
        for other in others:
            other.read_until(b"data: ")
    prompt = [97] * 100_000 if phase == "prefill" else [97, 98]
    client = Client(live, {"prompt": prompt, "stream": stream, "n": n, **LONG, "max_tokens": 100_000})
    if phase == "queued":
        wait_for(lambda: last_step(live).num_waiting >= n)
    elif phase == "prefill":
        wait_for(lambda: steps(live) > before + 3 and last_step(live).num_prefill_tokens)
    else:
        wait_for(lambda: steps(live) > before + 3 and last_step(live).num_decode_tokens)
        if stream:
            client.read_until(b"data: ")
    client.vanish()
    if phase == "queued":
        wait_for(lambda: last_step(live).num_waiting == 0)
        assert len(live.engine._open) == 2
    for other in others:
        other.vanish()
    assert_nothing_is_left(live)


@pytest.mark.parametrize("stream", [False, True])
def test_a_client_that_vanishes_after_the_last_chunk(live, stream):
    client = Client(live, {"prompt": "ab", "max_tokens": 3, "stream": stream, "ignore_eos": True})
    client.read_until(b"[DONE]" if stream else b'"usage"')
    client.vanish()
    assert_nothing_is_left(live)


def test_a_client_that_vanishes_in_the_middle_of_its_body(live):
    with live.connect() as connection:
        connection.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
        wait_for(lambda: live.server._server.server_state.tasks)
    assert_nothing_is_left(live)


def test_a_client_that_vanishes_with_several_prompts(live):
    client = Client(live, {"prompt": ["a", "b", "c", "d"], "stream": True, **LONG})
    client.read_until(b"data: ")
    client.vanish()
    assert_nothing_is_left(live)


def test_a_client_that_vanishes_with_embeddings(live):
    before = steps(live)
    client = Client(live, {"input": [[97] * 100_000] * 3}, "/v1/embeddings")
    wait_for(lambda: steps(live) > before + 3)
    client.vanish()
    assert_nothing_is_left(live)


def test_a_slow_reader_holds_up_nobody(live):
    slow = Client(live, {"prompt": "slow", "stream": True, **LONG})
    slow.read_until(b"data: ")
    before = steps(live)
    wait_for(lambda: steps(live) > before + 2000)
    quick = Client(live, {"prompt": "ab", "max_tokens": 5, "stream": True, "ignore_eos": True})
    quick.read_until(b"[DONE]")
    quick.vanish()
    connections = live.server._server.server_state.connections
    assert all(one.transport.get_write_buffer_size() < 1 << 20 for one in list(connections))
    slow.vanish()
    assert_nothing_is_left(live)


def test_a_request_id_that_is_in_use(live):
    first = Client(live, {**BUSY, "stream": True, "request_id": "mine"})
    first.read_until(b"data: ")
    second = Client(live, {"prompt": "x", "max_tokens": 1, "request_id": "mine"})
    second.read_until(b"is in use")
    assert second.read.startswith(b"HTTP/1.1 400")
    second.vanish()
    first.vanish()
    assert_nothing_is_left(live)
