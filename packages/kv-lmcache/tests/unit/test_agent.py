from __future__ import annotations

import os
import socket
import threading

import msgspec
import pytest
from fake_lmcache import CHUNK, Store, plain_seal

from kernelet_kv_lmcache import agent as module
from kernelet_kv_lmcache.agent import Agent
from kernelet_kv_lmcache.wire import Answer, Beat, Free, Get, Lookup, Put, Reply, Setup, State, receive, send

KEYS = [bytes([n]) * 32 for n in range(3)]
TOKEN = 4


class Talk:
    """An agent in a thread, its store, and the socket to it."""

    def __init__(self):
        self.store, self.memory = Store(), os.memfd_create("test")
        self.sock, theirs = socket.socketpair()
        self.thread = threading.Thread(target=Agent(theirs, self.memory, self.store.client).run)
        self.thread.start()
        self.received = receive(self.sock)
        replies = (msgspec.msgpack.decode(data, type=Reply) for data in self.received)
        self.replies = (reply for reply in replies if reply != Beat())

    def setup(self):
        send(self.sock, Setup("", "name", 0, 1, 0, TOKEN, 4 * CHUNK * TOKEN, 1.0))
        return next(self.replies)

    def say(self, message):
        send(self.sock, message)
        return next(self.replies)

    def slot(self, number, data=None):
        at = number * CHUNK * TOKEN
        if data is None:
            return os.pread(self.memory, CHUNK * TOKEN, at)
        os.pwrite(self.memory, data, at)
        return data

    def close(self):
        if self.thread.is_alive():
            self.sock.shutdown(socket.SHUT_WR)
            self.thread.join()
        self.received.close()
        self.sock.close()
        os.close(self.memory)


@pytest.fixture
def talk(monkeypatch):
    monkeypatch.setattr(module, "seal", plain_seal)
    monkeypatch.setattr(module, "PAUSE", 0.02)
    made = Talk()
    yield made
    made.close()


def test_chunks_go_out_of_slots_and_into_others(talk):
    assert talk.setup() == State(alive=True, chunk=CHUNK)
    stored = [talk.slot(number, bytes([number + 1]) * CHUNK * TOKEN) for number in (0, 1)]
    assert talk.say(Put(1, "p", KEYS[:2], 0, [0, 1])) == Answer(1, 2)
    assert talk.say(Lookup(2, "s", KEYS)) == Answer(2, 2)
    assert talk.say(Get(3, "s", KEYS[:2], 1, [3])) == Answer(3, 1)
    assert talk.slot(3) == stored[1]
    assert talk.say(Get(4, "s", KEYS[:1], 0, [2])) == Answer(4, 1)
    assert talk.slot(2) == stored[0]
    assert not talk.store.held["s"]


def test_bytes_of_another_chunk_are_spoiled(talk):
    """Each is whole, but is not what its key names."""
    talk.setup()
    talk.say(Put(1, "p", KEYS[:1], 0, [0]))
    talk.say(Put(2, "p", [KEYS[1]], 0, [1]))
    names = list(talk.store.chunks)
    talk.store.chunks[names[0]] = talk.store.chunks[names[1]]
    talk.say(Lookup(3, "s", KEYS[:1]))
    assert talk.say(Get(4, "s", KEYS[:1], 0, [2])) == Answer(4, 0, KEYS[0])


def test_a_call_that_fails_is_a_miss_and_the_server_is_met_again(talk):
    talk.setup()
    talk.store.held["s"] = set()
    send(talk.sock, Free("s", KEYS, 0, 1, whole=True, ends=True))  # nothing is held: the fake raises
    told = next(talk.replies)
    assert not told.alive
    assert "Free failed: KeyError" in told.reason
    assert next(talk.replies) == State(alive=True, chunk=CHUNK)
    assert talk.say(Lookup(1, "t", KEYS)) == Answer(1, 0)


def test_a_server_that_is_not_there(talk):
    talk.store.alive = False
    assert talk.setup() == State(alive=False, reason="TimeoutError: nobody answers")
    assert talk.say(Lookup(1, "s", KEYS)) == Answer(1, 0)
    assert talk.say(Put(2, "s", KEYS, 0, [0, 1, 2])) == Answer(2, 0)
    talk.store.alive = True
    assert next(talk.replies) == State(alive=True, chunk=CHUNK)


def test_the_end_of_the_engine_ends_it(talk):
    talk.setup()
    talk.sock.shutdown(socket.SHUT_WR)
    talk.thread.join()
    assert ("close", True) in talk.store.calls


def test_it_beats_whatever_its_server_does(talk, monkeypatch):
    monkeypatch.setattr(module, "BEAT", 0.01)
    monkeypatch.setattr("fake_lmcache.Client.ping", lambda _client: threading.Event().wait(1))
    send(talk.sock, Setup("", "name", 0, 1, 0, TOKEN, 0, 1.0))
    assert msgspec.msgpack.decode(next(talk.received), type=Reply) == Beat()
