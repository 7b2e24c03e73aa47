from __future__ import annotations

import errno
import socket
import threading
from contextlib import closing

import pytest

from kernelet_kv_transfer import listener
from kernelet_kv_transfer.listener import Listener


def echo(connection):
    while said := connection.recv(100):
        connection.sendall(said)


@pytest.fixture
def listening():
    with closing(Listener("127.0.0.1", 0, echo, "kv-test")) as one:
        yield one


def connect(one):
    return socket.create_connection(("127.0.0.1", one.port), timeout=10)


def says(connection, text):
    connection.sendall(text)
    return connection.recv(100)


def threads():
    return [one for one in threading.enumerate() if one.name.startswith("kv-test")]


def test_each_connection_has_a_thread_until_it_is_closed(listening):
    with connect(listening) as first, connect(listening) as second:
        assert [says(first, b"a"), says(second, b"b"), says(first, b"c")] == [b"a", b"b", b"c"]
        running = threads()
        assert len(running) == 3
        listening.close()
        assert first.recv(1) == second.recv(1) == b""
    for one in running:
        one.join(10)
    assert not threads()


def test_one_too_many_is_closed_at_once(listening, monkeypatch):
    monkeypatch.setattr(listener, "MOST", 1)
    with connect(listening) as first:
        assert says(first, b"a") == b"a"
        with connect(listening) as second:
            assert second.recv(1) == b""
        assert says(first, b"b") == b"b"


def test_a_machine_without_descriptors_is_asked_again(monkeypatch):
    accept, failures = socket.socket.accept, [OSError(errno.EMFILE, "Too many open files")] * 2

    def accepts(listener):
        if failures:
            raise failures.pop()
        return accept(listener)

    monkeypatch.setattr(socket.socket, "accept", accepts)
    with closing(Listener("127.0.0.1", 0, echo, "kv-test")) as listening, connect(listening) as first:
        assert says(first, b"a") == b"a"
    assert not failures
