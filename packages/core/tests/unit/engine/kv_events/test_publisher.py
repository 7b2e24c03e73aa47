from __future__ import annotations

import threading
from contextlib import contextmanager

import msgspec
import pytest
import zmq

from kernelet.config import KVEventsConfig
from kernelet.engine.kv_events.messages import ClearedMessage, EventBatch
from kernelet.engine.kv_events.publisher import END, KVEventPublisher, is_bound
from kernelet.errors import ConfigError

SECONDS = 60_000


def batch(number):
    return EventBatch(ts=float(number), events=[ClearedMessage()])


@pytest.fixture
def address(tmp_path):
    return f"ipc://{tmp_path}/events"


@pytest.fixture
def context():
    with zmq.Context() as made:
        yield made


@contextmanager
def publishing(**fields):
    publisher = KVEventPublisher(KVEventsConfig(enable_kv_cache_events=True, **fields))
    try:
        yield publisher
    finally:
        publisher.close()


def subscribe(context, address, topic=b""):
    """A subscriber whose publisher knows of it."""
    socket = context.socket(zmq.SUB)
    socket.rcvtimeo, socket.linger = SECONDS, 0
    socket.connect(address)
    socket.subscribe(topic)
    return socket


def hear(socket, publisher):
    """The next message; a subscription takes its time to arrive, and what is published before is not heard."""
    socket.rcvtimeo = 50
    for number in range(1000):
        publisher.publish(batch(number))
        try:
            return socket.recv_multipart()
        except zmq.Again:
            continue
        finally:
            socket.rcvtimeo = SECONDS
    raise AssertionError("nothing was heard")


def ask(context, address, first):
    """All that is sent again from a number on."""
    with context.socket(zmq.DEALER) as socket:
        socket.rcvtimeo, socket.linger = SECONDS, 0
        socket.connect(address)
        socket.send_multipart((b"", first.to_bytes(8, "big")))
        found = []
        while (frames := socket.recv_multipart())[-2] != END:
            found.append(frames)
        assert frames == [b"", b"", END, b""]
        return found


def test_messages_have_a_topic_and_rising_numbers(context, address):
    with publishing(endpoint=address, topic="kv@pod") as publisher:
        socket = subscribe(context, address, b"kv@")
        topic, number, payload = hear(socket, publisher)
        assert topic == b"kv@pod"
        first = int.from_bytes(number, "big")
        decoded = msgspec.msgpack.decode(payload)
        assert decoded == [decoded[0], [{"type": "AllBlocksCleared"}], 0]
        publisher.publish(batch(7))
        rest = [int.from_bytes(socket.recv_multipart()[1], "big")]
        assert rest == [first + 1]
        socket.close()


def test_what_was_missed_is_sent_again(context, address, tmp_path):
    replay = f"ipc://{tmp_path}/replay"
    with publishing(endpoint=address, replay_endpoint=replay, buffer_steps=5, topic="t") as publisher:
        for number in range(8):
            publisher.publish(batch(number))
        found = ask(context, replay, 0)
        while len(found) < 5 or found[-1][2] != (7).to_bytes(8, "big"):  # the thread has not come so far
            found = ask(context, replay, 0)
        assert [frames[:3] for frames in found] == [[b"", b"t", number.to_bytes(8, "big")] for number in range(3, 8)]
        assert [msgspec.msgpack.decode(frames[3])[0] for frames in found] == [3.0, 4.0, 5.0, 6.0, 7.0]
        assert [frames[2][-1] for frames in ask(context, replay, 6)] == [6, 7]
        assert ask(context, replay, 9) == []


def test_nonsense_at_the_replay_socket_hurts_nobody(context, address, tmp_path, caplog):
    replay = f"ipc://{tmp_path}/replay"
    with publishing(endpoint=address, replay_endpoint=replay) as publisher:
        publisher.publish(batch(0))
        with context.socket(zmq.DEALER) as socket:
            socket.connect(replay)
            for frames in ((b"x",), (b"", b"short"), (b"", b"a", b"b")):
                socket.send_multipart(frames)
            socket.send_multipart((b"", (0).to_bytes(8, "big")))
            socket.rcvtimeo = SECONDS
            assert socket.recv_multipart()[-2] in {(0).to_bytes(8, "big"), END}
    assert caplog.text.count("makes no sense") == 3


def test_who_does_not_read_makes_nobody_wait(context, address):
    """Neither a subscriber that is behind nor a thread that does not come to publish; numbers tell what was lost."""
    with publishing(endpoint=address, hwm=1, max_queue_size=3) as publisher:
        socket = subscribe(context, address)
        hear(socket, publisher)
        socket.rcvhwm = 1
        held = threading.Event()
        publisher._pub = Held(publisher._pub, held)
        for number in range(2000):
            publisher.publish(batch(number))
        lost = publisher.num_lost
        assert lost > 1000
        held.set()
        socket.close()


class Held:
    """A socket that sends once it may."""

    def __init__(self, socket, held):
        self._socket, self._held = socket, held

    def send_multipart(self, frames):
        self._held.wait(60)
        self._socket.send_multipart(frames)

    def close(self, linger):
        self._socket.close(linger=linger)


def test_an_address_that_cannot_be_used(tmp_path):
    for field in ("endpoint", "replay_endpoint"):
        fields = {"endpoint": f"ipc://{tmp_path}/events", field: f"ipc://{tmp_path}/no/such/folder"}
        with pytest.raises(ConfigError, match=rf"--kv-events-config: {field} 'ipc://.*/no/such.*choose another"):
            KVEventPublisher(KVEventsConfig(**fields))


def test_closed_twice(address):
    publisher = KVEventPublisher(KVEventsConfig(endpoint=address))
    publisher.close()
    publisher.close()
    assert not publisher._thread.is_alive()


def test_what_is_bound():
    assert all(map(is_bound, ("tcp://*:5557", "tcp://[::]:1", "ipc:///x", "inproc://x")))
    assert not is_bound("tcp://gateway:5557")
