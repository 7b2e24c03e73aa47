from __future__ import annotations

import os

import pytest
import zmq

from kernelet.engine.remote.connection import Connection
from kernelet.engine.remote.messages import Codec, Goodbye, Hello, Pulse, Read, Step
from kernelet.request.outputs import EngineOutput

HELLO = Hello(index=1, alive="frontend-1")
CODEC = Codec()


class Engine:
    """Sockets without an engine behind them."""

    def __init__(self, context, place, generation):
        self.router, self.publisher = context.socket(zmq.ROUTER), context.socket(zmq.PUB)
        for socket, address in ((self.router, place.data(generation)), (self.publisher, place.pulse(generation))):
            socket.set(zmq.LINGER, 0)
            socket.bind(address)

    def hear(self):
        assert self.router.poll(60_000)
        identity, data = self.router.recv_multipart()
        assert identity == b"frontend-1"
        return CODEC.to_engine(data)

    def say(self, message):
        self.router.send_multipart([b"frontend-1", CODEC.encode(message)])

    def close(self):
        self.router.close()
        self.publisher.close()


@pytest.fixture
def context():
    context = zmq.Context()
    yield context
    context.term()


@pytest.fixture
def connection(context, place):
    connection = Connection(context, place, 3, HELLO, None)
    yield connection
    connection.close()


@pytest.fixture
def other(context, place, connection):
    """Comes later than the frontend, as an engine that is still starting."""
    engine = Engine(context, place, 3)
    yield engine
    engine.close()


def receive(connection):
    assert connection.data.poll(60_000)
    return list(connection.receive())


def test_it_says_hello_first_and_waits_for_who_is_not_there_yet(connection, other):
    connection.send(Goodbye())
    connection.forward(CODEC.encode(Goodbye(stop=True)))
    assert [other.hear() for _ in range(3)] == [HELLO, Goodbye(), Goodbye(stop=True)]


def test_what_was_read_is_told(connection, other):
    other.hear()
    connection.read_every = 100
    step = Step(outputs=[EngineOutput(request_id="a", token_ids=list(range(30)))])
    sizes = []
    for _ in range(10):
        other.say(step)
        sizes.append(len(CODEC.encode(step)))
    found = []
    while len(found) < 10:
        found += receive(connection)
    assert found == [step] * 10
    read = 0
    while read <= sum(sizes) - 100 - sizes[0]:
        message = other.hear()
        assert isinstance(message, Read)
        assert message.bytes >= 100
        read += message.bytes
    assert read <= sum(sizes)


def test_only_the_last_pulse_counts(connection, other, until):
    assert connection.pulse() is None
    found = []

    def comes():
        other.publisher.send(CODEC.encode(Pulse(age=len(found) + 1.0)))
        if connection.pulses.poll(10):
            found.append(connection.pulse())
        return found and found[-1] is not None

    until(comes)
    assert found[-1].age >= 1.0
    other.publisher.send(b"garbage")
    assert connection.pulses.poll(60_000)
    assert connection.pulse() is None


def test_the_engines_end_is_watched_once_it_has_begun(connection, place):
    connection.find_pipe()
    assert connection.pipe is None
    held = place.make_pipe(place.engine_pipe(3))
    connection.find_pipe()
    connection.find_pipe()
    assert connection.pipe not in dict(connection.poller.poll(0))
    os.close(held)
    assert connection.pipe in dict(connection.poller.poll(60_000))


def test_a_message_that_is_none_is_an_error(connection, other):
    import msgspec

    other.hear()
    other.router.send_multipart([b"frontend-1", b"garbage"])
    assert connection.data.poll(60_000)
    with pytest.raises(msgspec.MsgspecError):
        list(connection.receive())
