from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import socket
import threading
import time

import pytest
from null_server import LiveServer
from scripted_engine import ScriptedEngine, choice, output

from kernelet_server_openai import http_protocol
from kernelet_server_openai import server as server_module
from kernelet_server_openai.http_protocol import LARGEST_HEAD
from kernelet_server_openai.serving import disconnect

LINE = b"GET /live HTTP/1.1\r\nHost: x\r\n"
BODY = b"POST /live HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n" + b"b" * 60000


def answer(connection):
    pieces = []
    while piece := connection.recv(65536):
        pieces.append(piece)
    return b"".join(pieces)


def error_of(found):
    error = json.loads(found.rpartition(b"\r\n\r\n")[2])["error"]
    assert set(error) == {"message", "type", "param", "code"}
    return error


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
    assert error_of(found)["code"] == "headers_too_large"


@pytest.mark.parametrize("pieces", [1, 7, 32])
@pytest.mark.parametrize("size, status", [(LARGEST_HEAD - 200, 200), (LARGEST_HEAD, 431), (2 * LARGEST_HEAD, 431)])
@pytest.mark.parametrize("before", [b"", BODY], ids=["first", "behind a body"])
def test_a_whole_head_is_counted_however_it_comes(live, before, size, status, pieces):
    head = before + LINE + b"Connection: close\r\nX: " + b"a" * size + b"\r\n\r\n"
    step = len(head) // pieces + 1
    found = b""
    with live.connect() as connection, contextlib.suppress(ConnectionError):  # it is closed amid what is too large
        for place in range(0, len(head), step):
            connection.sendall(head[place : place + step])
            time.sleep(0.002)
        found = answer(connection)
    assert (b'{"status":"live"}' in found) == (status == 200)
    if found and not before:
        assert found.startswith(b"HTTP/1.1 %d" % status)


@pytest.fixture
def logged(tmp_path):
    """Lines of the access log, for which a server of its own is sent something."""

    def run(sent, **settings):
        path = tmp_path / "access.jsonl"
        with LiveServer(ScriptedEngine(), access_log=str(path), **settings) as server, server.connect() as connection:
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
            found = answer(connection)
        return found, [json.loads(line) for line in path.read_text().splitlines()]

    return run


@pytest.mark.parametrize(
    "sent, words",
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "method"),
        (LINE + b"Content-Length: -1\r\n\r\n", "Content-Length"),
        (LINE + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n", "Content-Length"),
        (LINE + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "Transfer-Encoding"),
        (LINE + b"X-Request-Id: a\x01b\r\n\r\n", "header"),
        (b"CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n", "target"),
        (LINE + b"X: " + b"a" * LARGEST_HEAD + b"\r\n\r\n", "65536 bytes"),
    ],
)
def test_what_is_no_request_is_told_and_logged_as_any_other(logged, caplog, sent, words):
    found, (line,) = logged(sent)
    error = error_of(found)
    assert words in error["message"]
    assert error["type"] == "invalid_request_error"
    assert b"x-request-id: " + line["request_id"].encode() in found
    assert (line["status"], line["client"], line["error"]) == (int(found[9:12]), "127.0.0.1", error["message"])
    assert set(line) >= {"time", "key", "method", "path", "ms"}
    assert not [record for record in caplog.records if record.name.startswith("uvicorn") and record.levelno >= 30]


def test_a_body_that_is_none_has_one_line(logged):
    head = b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    found, (line,) = logged(head + b"zz\r\n")
    assert found.startswith(b"HTTP/1.1 400")
    assert "chunk" in error_of(found)["message"]
    assert (line["path"], line["status"]) == ("/v1/completions", 400)


def test_an_upgrade_that_nobody_serves_is_a_request_as_any_other(logged, caplog):
    found, (line,) = logged(b"GET /v1/models HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n")
    assert found.startswith(b"HTTP/1.1 200")
    assert line["status"] == 200
    assert "pip install" not in caplog.text


def test_an_error_never_comes_amid_an_answer(live):
    """What is no request, behind one that is still being answered."""
    gate = asyncio.Event()
    body = b'{"prompt":"x","stream":true}'
    head = b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body)
    engine = ScriptedEngine(output(choice("h")), gate)
    with LiveServer(engine) as server, server.connect() as connection:
        connection.sendall(head + body)
        found = connection.recv(65536)
        connection.sendall(b"\x16\x03\x01")
        found += answer(connection)
    assert found.startswith(b"HTTP/1.1 200")
    assert found.count(b"HTTP/1.1") == 1


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
    assert error_of(found)["code"] == "headers_too_late"
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
