from __future__ import annotations

import asyncio
import time

import pytest
from null_server import LiveServer
from scripted_engine import ScriptedEngine, choice, output

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
    body = b'{"messages":[{}],"stream":true}'
    with LiveServer(engine, client_timeout=0.2) as server, server.connect() as connection:
        head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body)
        connection.sendall(head + body)
        assert engine.begun.wait(30)
        end = server.loop.time() + 60
        while (engine.running or server.server._server.server_state.connections) and server.loop.time() < end:
            time.sleep(0.02)
        assert engine.running == 0
        assert not server.server._server.server_state.connections
