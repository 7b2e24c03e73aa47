from __future__ import annotations

import os
import threading

import pytest
import zmq

from kernelet.engine.remote.messages import Add, Codec, Goodbye, Hello, Read, Step
from kernelet.engine.remote.switchboard import BATCH, MAX_COMPLAINTS, Switchboard
from kernelet.testing.null.harness import null_request

ENCODE = Codec().encode
DECODE = Codec().to_frontend


class Frontend:
    """A socket and a pipe."""

    def __init__(self, context, place, index, name=None):
        self.name = name or f"frontend-{index}"
        self.socket = context.socket(zmq.DEALER)
        self.socket.set(zmq.LINGER, 0)
        self.socket.set(zmq.IDENTITY, self.name.encode())
        self.socket.connect(place.data(0))
        self.pipe = place.make_pipe(self.name)
        self.index = index

    def say(self, message):
        self.socket.send(ENCODE(message))

    def hello(self):
        self.say(Hello(index=self.index, alive=self.name))

    def hear(self):
        assert self.socket.poll(60_000)
        return DECODE(self.socket.recv())

    def die(self):
        self.socket.close()
        os.close(self.pipe)
        self.pipe = None


@pytest.fixture
def context():
    context = zmq.Context()
    yield context
    context.term()


@pytest.fixture
def board(context, place):
    board = Switchboard(context, place, place.data(0))
    yield board
    board.close()


@pytest.fixture
def frontend(context, place, board):
    made = []

    def make(index, name=None):
        made.append(Frontend(context, place, index, name))
        return made[-1]

    yield make
    for one in made:
        if one.pipe is not None:
            one.die()


def heard(board, count):
    """So many messages, each with its frontend's number."""
    found = []
    while len(found) < count:
        before = len(found)
        found += [(peer.index, message) for peer, message in board.receive(60.0)]
        assert len(found) > before or board.peers is not None
    return found


def test_frontends_are_told_apart(board, frontend):
    first, second = frontend(0), frontend(1)
    for one in (first, second):
        one.hello()
    messages = heard(board, 2)
    assert {(index, type(message)) for index, message in messages} == {(0, Hello), (1, Hello)}
    assert board.first.index == 0
    for peer in board.peers:
        board.send(peer, Step())
    assert first.hear() == second.hear() == Step()
    request = null_request("a", [1])
    second.say(Add(requests=[request]))
    assert heard(board, 1) == [(1, Add(requests=[request]))]


def test_what_was_not_read_is_counted(board, frontend):
    one = frontend(0)
    one.hello()
    heard(board, 1)
    board.send(board.first, Step())
    size = len(ENCODE(Step()))
    assert board.first.unread == size
    one.say(Read(bytes=size))
    one.say(Goodbye())
    heard(board, 1)
    assert board.first.unread == 0


def test_who_dies_has_said_goodbye(board, frontend):
    one, other = frontend(0), frontend(1)
    for which in (one, other):
        which.hello()
    heard(board, 2)
    other.die()
    assert heard(board, 1) == [(1, Goodbye())]
    assert [peer.index for peer in board.peers] == [0]
    again = frontend(1, "frontend-1-again")
    again.hello()
    heard(board, 1)
    assert sorted(peer.index for peer in board.peers) == [0, 1]


def test_sending_to_somebody_who_is_gone_is_nothing(board, frontend, until):
    one = frontend(0)
    one.hello()
    heard(board, 1)
    peer = board.first
    one.socket.close()
    until(lambda: (board.send(peer, Step()), peer.unread)[1] == peer.unread)
    board.forget(peer)
    board.forget(peer)
    assert board.first is None


def test_what_makes_no_sense_is_ignored(board, frontend, caplog):
    one = frontend(0)
    one.say(Add(requests=[]))
    one.hello()
    for frames in ([b""], [b"\xff" * 1000], [b"a", b"b"], [b"\x81\xa4type\xa5Hello"]):
        one.socket.send_multipart(frames)
    one.say(Goodbye())
    assert [type(message) for _, message in heard(board, 2)] == [Hello, Goodbye]
    assert len([record for record in caplog.records if "is ignored" in record.message]) == 5
    assert "somebody who did not say hello" in caplog.text


def test_a_flood_of_nonsense_is_complained_of_so_often_and_read_in_parts(board, frontend, caplog):
    one = frontend(0)
    one.hello()
    heard(board, 1)
    for _ in range(2 * BATCH):
        one.socket.send(b"x")
    one.say(Goodbye())
    rounds = 0
    while not list(board.receive(60.0)):
        rounds += 1
    assert rounds >= 1
    assert len(caplog.records) == MAX_COMPLAINTS


def test_a_frontend_without_a_pipe_is_nobody(board, frontend, caplog):
    one = frontend(0)
    one.say(Hello(index=0, alive="../nothing"))
    one.say(Hello(index=0, alive="nothing"))
    one.hello()
    heard(board, 1)
    assert caplog.text.count("without a pipe") == 2


def test_a_second_hello_changes_nothing(board, frontend):
    one = frontend(0)
    one.hello()
    one.hello()
    heard(board, 2)
    assert len(board.peers) == 1


def test_nobody_speaks(board):
    assert list(board.receive(0.0)) == []
    assert list(board.receive(0.01)) == []


def test_it_can_be_woken_from_any_thread_and_after_its_end(context, place):
    board = Switchboard(context, place, place.data(0))
    thread = threading.Timer(0.2, board.wake)
    thread.start()
    assert list(board.receive(60.0)) == []
    thread.join()
    for _ in range(100_000):
        board.wake()  # however often, it never blocks
    assert list(board.receive(60.0)) == []
    board.close()
    board.wake()
    board.close()
