from __future__ import annotations

import socket
import threading
import time

import msgspec
import pytest

from kernelet.config import PluginsConfig
from kernelet.engine.sandbox.messages import Call, Hello, PluginsOfHelper, Reply, Started, receive, send
from kernelet.executor.frames import LENGTH

LIMIT = 1 << 30


@pytest.fixture
def pair():
    left, right = socket.socketpair()
    with left, right:
        yield left, right


@pytest.mark.parametrize(
    "message",
    [
        Hello(path=["", "/a"], memory_bytes=5),
        Call(
            target="a:b",
            payload=bytes(range(256)),
            seconds=1.5,
            plugins=PluginsOfHelper(manifest=b"m", config=PluginsConfig(allow=("a",), settings={"a": {"k": 1}})),
        ),
        Started(),
        Reply(error="E", message="\u20ac", out_of_memory=True, is_last=True),
    ],
    ids=lambda message: type(message).__name__,
)
def test_messages_arrive_as_they_were(pair, message):
    send(pair[0], message, 10)
    assert msgspec.msgpack.decode(receive(pair[1], LIMIT), type=type(message)) == message


def test_a_reply_and_a_start_are_told_apart():
    for message in (Started(), Reply(result=b"r")):
        assert msgspec.msgpack.decode(msgspec.msgpack.encode(message), type=Started | Reply) == message


def test_a_message_larger_than_the_buffers_arrives(pair):
    call = Call(target="a:b", payload=b"x" * (8 << 20), seconds=1)
    sender = threading.Thread(target=send, args=(pair[0], call, 60))
    sender.start()
    assert msgspec.msgpack.decode(receive(pair[1], LIMIT, time.monotonic() + 60), type=Call) == call
    sender.join()


def test_an_end_is_none_also_in_the_middle(pair):
    pair[0].sendall(LENGTH.pack(100) + b"part")
    pair[0].close()
    assert receive(pair[1], LIMIT) is None
    assert receive(pair[1], LIMIT) is None


def test_a_message_that_is_too_large_is_not_read(pair):
    send(pair[0], Reply(result=b"x" * 1000), 10)
    with pytest.raises(OverflowError, match=r"10\d\d bytes"):
        receive(pair[1], 999)


@pytest.mark.parametrize("sent", [b"", b"\0\0", LENGTH.pack(4) + b"abc"])
def test_a_message_that_does_not_come_is_a_timeout(pair, sent):
    pair[0].sendall(sent)
    with pytest.raises(TimeoutError):
        receive(pair[1], LIMIT, time.monotonic() + 0.05)


def test_a_receiver_that_does_not_read_is_a_timeout(pair):
    with pytest.raises(TimeoutError):
        send(pair[0], Reply(result=b"x" * (16 << 20)), 0.05)
