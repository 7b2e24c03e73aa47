from __future__ import annotations

import socket
import threading

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from kernelet_kv_lmcache.wire import Answer, Get, Lookup, Message, Reply, Setup, State, num_slots, receive, send

KEYS = st.lists(st.binary(min_size=32, max_size=32), max_size=4)
MESSAGES = st.one_of(
    st.builds(Lookup, st.integers(0, 9), st.text(), KEYS),
    st.builds(Get, st.integers(0, 9), st.text(), KEYS, st.integers(0, 9), st.lists(st.integers(0, 9))),
)


@given(messages=st.lists(MESSAGES, max_size=5))
def test_messages_come_as_they_were_sent(messages):
    mine, theirs = socket.socketpair()

    def sends():
        with theirs:
            for message in messages:
                send(theirs, message)

    thread = threading.Thread(target=sends)
    thread.start()
    with mine:
        assert [msgspec.msgpack.decode(data, type=Message) for data in receive(mine)] == messages
    thread.join()


def test_a_message_that_was_cut_is_none():
    mine, theirs = socket.socketpair()
    with mine, theirs:
        send(theirs, State(alive=True))
        theirs.sendall(b"\x40\x00")
        theirs.shutdown(socket.SHUT_WR)
        assert [msgspec.msgpack.decode(data, type=Reply) for data in receive(mine)] == [State(alive=True)]


def test_there_are_two_slots_at_least():
    setup = Setup("", "", 0, 1, 0, token_bytes=100, buffer_bytes=10_000, timeout=1.0)
    assert num_slots(setup, 10) == 10
    assert num_slots(setup, 1000) == 2
    assert Answer(1, 2) != State(alive=True)
