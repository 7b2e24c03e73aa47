from __future__ import annotations

import asyncio
import itertools
import json
import threading
import time

import pytest
from null_server import LiveServer
from scripted_engine import ScriptedEngine, choice, output

from kernelet_server_openai import http_protocol
from kernelet_server_openai import server as server_module
from kernelet_server_openai.http_protocol import LARGEST_HEAD, MESSAGE
from kernelet_server_openai.serving import disconnect

LINE = b"GET /live HTTP/1.1\r\nHost: x\r\n"


def answer(connection):
    pieces = []
    while piece := connection.recv(65536):
        pieces.append(piece)
    return b"".join(pieces)


@pytest.fixture(scope="module")
def live():
    with LiveServer(ScriptedEngine()) as server:
        yield server


@pytest.mark.parametrize(
    "rest",
    [b"X: " + b"a" * LARGEST_HEAD, b"".join(b"X%d: %s\r\n" % (n, b"a" * 1000) for n in range(120))],
    ids=["one", "many"],
)
def test_a_head_without_end_is_refused(live, rest):
    with live.connect() as connection:
        # to the last byte that is taken: more would have the connection reset, and the answer lost
        connection.sendall((LINE + rest)[: LARGEST_HEAD + 1])
        found = answer(connection)
    assert found.startswith(b"HTTP/1.1 431")
    assert found.endswith(MESSAGE)


def test_a_large_head_passes_and_each_request_counts_for_itself(live):
    with live.connect() as connection:
        for last in (False, False, True):
            close = b"Connection: close\r\n" if last else b""
            connection.sendall(LINE + close + b"X: " + b"a" * (LARGEST_HEAD - 1000) + b"\r\n\r\n")
            found = b""
            while b'{"status":"live"}' not in found:
                found += connection.recv(1000)
            assert found.startswith(b"HTTP/1.1 200")


def test_a_client_that_does_not_read_is_cut(monkeypatch):
    monkeypatch.setattr(disconnect, "WATCH_SECONDS", 0.05)
    text, items = "", []
    for _ in range(40):
        text += "x" * 1_000_000
        items.append(output(choice(text, (1,))))
    engine = ScriptedEngine(*items, asyncio.Event())
    body = b'{"messages":[{"role":"user","content":"x"}],"stream":true}'
    with LiveServer(engine, client_timeout=0.2) as server, server.connect() as connection:
        head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body)
        connection.sendall(head + body)
        assert engine.begun.wait(30)
        end = server.loop.time() + 60
        while (engine.running or server.server._server.server_state.connections) and server.loop.time() < end:
            time.sleep(0.02)
        assert engine.running == 0
        assert not server.server._server.server_state.connections


@pytest.fixture
def short(monkeypatch):
    monkeypatch.setattr(http_protocol, "HEAD_SECONDS", 0.3)


def dripped(connection, pieces):
    """Sends bytes one by one until the other side has had enough; what it said."""
    connection.settimeout(0.02)
    found = b""
    for piece in itertools.chain.from_iterable(pieces):
        try:
            connection.sendall(bytes([piece]))
            received = connection.recv(4096)
        except TimeoutError:
            continue
        except ConnectionError:
            return found
        if not received:
            return found
        found += received
    raise AssertionError("it took every byte")


@pytest.mark.parametrize("begin", [b"", LINE, b"GET /live HTTP/1.1\r\nHost: x\r\n\r\n"], ids=["first", "rest", "next"])
def test_headers_that_come_byte_by_byte_are_cut(short, live, begin):
    with live.connect() as connection:
        connection.sendall(begin)
        found = dripped(connection, [LINE if begin != LINE else b"", b"X: ", itertools.repeat(97, 3000)])
    assert found.endswith(http_protocol.LATE)
    assert found.count(b"HTTP/1.1 408") == 1
    assert found.count(b"HTTP/1.1 200") == (begin not in (b"", LINE))


@pytest.mark.parametrize(
    "begin, rest",
    [
        (b"", b""),
        (b"\r\n", b"\r\n"),
        (b"GET /live HTTP/1.1\r\nHost: x\r\nContent-Length: 9999\r\n\r\n", b"x"),
    ],
    ids=["silence", "empty lines", "a body that nobody reads"],
)
def test_a_connection_without_a_request_is_closed(short, live, begin, rest):
    with live.connect() as connection:
        connection.sendall(begin)
        found = dripped(connection, [rest * 3000]) if rest else connection.recv(4096)
    assert b"HTTP/1.1 408" not in found
    assert found.count(b"HTTP/1.1 200") == begin.count(b"/live")


def test_a_slow_answer_is_not_cut(monkeypatch):
    """The head of a next request may begin meanwhile."""
    monkeypatch.setattr(http_protocol, "HEAD_SECONDS", 0.05)
    gate = threading.Event()

    class Slow(ScriptedEngine):
        async def generate(self, *arguments, **keywords):
            await asyncio.to_thread(gate.wait, 60)
            async for item in super().generate(*arguments, **keywords):
                yield item

    body = b'{"prompt":"x"}'
    with LiveServer(Slow()) as server, server.connect() as connection:
        head = b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body)
        connection.sendall(head + body + b"GET /live")
        time.sleep(0.3)
        gate.set()
        connection.sendall(b" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        found = answer(connection)
    assert found.count(b"HTTP/1.1 200") == 2


def test_an_idle_connection_is_closed(monkeypatch):
    monkeypatch.setattr(server_module, "KEEP_ALIVE_SECONDS", 0.1)
    with LiveServer(ScriptedEngine()) as server, server.connect() as connection:
        connection.sendall(LINE + b"\r\n")
        assert answer(connection).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("stream", [True, False])
def test_clients_of_http_1_0_get_no_chunks(live, stream):
    body = json.dumps({"prompt": "x", "stream": stream}).encode()
    with live.connect() as connection:
        connection.sendall(b"POST /v1/completions HTTP/1.0\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        head, _, text = answer(connection).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200")
    assert b"transfer-encoding" not in head
    assert b"connection: close" in head
    if stream:
        assert text.startswith(b"data: {")
        assert text.endswith(b"data: [DONE]\n\n")
    else:
        assert json.loads(text)["choices"][0]["text"] == "hello"
