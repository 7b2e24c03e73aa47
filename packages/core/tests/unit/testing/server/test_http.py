from __future__ import annotations

import asyncio
import socket

import pytest

from kernelet.testing.server.http import answer


def talk(said, app):
    """What comes back on a connection on which something was said."""

    async def main():
        ours, theirs = socket.socketpair()
        reader, writer = await asyncio.open_connection(sock=theirs, limit=1 << 16)
        client_reader, client_writer = await asyncio.open_connection(sock=ours)
        client_writer.write(said)
        client_writer.write_eof()
        await answer(app, reader, writer)
        try:
            got = await client_reader.read()
        except ConnectionError:
            got = None
        client_writer.close()
        return got

    return asyncio.run(main())


async def echo(scope, receive, send):
    body = (await receive())["body"]
    said = f"{scope['method']} {scope['path']} {scope['query_string'].decode()} {dict(scope['headers'])[b'x']!r}"
    await send({"type": "http.response.start", "status": 200, "headers": [(b"X-Kind", b"echo")]})
    await send({"type": "http.response.body", "body": said.encode() + b"|", "more_body": True})
    await send({"type": "http.response.body", "body": body})


def test_a_request_and_its_answer():
    got = talk(b"POST /a%20b?c=d HTTP/1.1\r\nX: y\r\nContent-Length: 3\r\n\r\nabc", echo)
    head, _, body = got.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\nx-kind: echo\r\n")
    assert b"transfer-encoding: chunked" in head
    assert body == b"16\r\nPOST /a b c=d b'y'|\r\n3\r\nabc\r\n0\r\n\r\n".replace(
        b"16", b"%x" % len("POST /a b c=d b'y'|")
    )


def test_a_length_that_is_known():
    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 404, "headers": []})
        await send({"type": "http.response.body", "body": b"no"})

    got = talk(b"GET / HTTP/1.1\r\n\r\n", app)
    assert got == b"HTTP/1.1 404 Not Found\r\nconnection: close\r\ncontent-length: 2\r\n\r\nno"


@pytest.mark.parametrize(
    "said, status",
    [
        (b"nonsense\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nContent-Length: 9999999\r\n\r\n", b"413"),
    ],
)
def test_what_is_no_request(said, status):
    assert talk(said, echo).split(b" ")[1] == status


def test_an_answer_that_is_not_complete_is_cut():
    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"x", "more_body": True})

    got = talk(b"GET / HTTP/1.1\r\n\r\n", app)
    assert got is None or not got.endswith(b"0\r\n\r\n")


def test_a_client_that_is_gone():
    assert talk(b"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\na", echo) in {b"", None}
