from __future__ import annotations

import socket
import time

import pytest
from transfer_pairs import KEY

from kernelet_kv_transfer.errors import TransferError
from kernelet_kv_transfer.messages import (
    VERSION,
    Claim,
    Claimed,
    Hello,
    Refused,
    Release,
    Renew,
    Renewed,
    Stage,
    Staged,
    Verified,
    Verify,
    Welcome,
    receive,
    send,
)
from kernelet_kv_transfer.server import Conversation


@pytest.fixture
def producer(make):
    return make()


@pytest.fixture
def talk(producer):
    conversation = Conversation(producer.server)
    yield conversation.answer
    conversation.end()


def hello(producer, **fields):
    facts = {"version": VERSION, "transport": "memory", "engine_id": "producer", "layout": producer.server.layout}
    return Hello(**{**facts, **fields})


def claim(lease):
    return Claim(number=lease.number, generation=lease.generation, key=KEY)


@pytest.mark.parametrize(
    "fields, says",
    [
        ({"version": 2}, "not version 2"),
        ({"transport": "other"}, "the same connector"),
        ({"engine_id": "before"}, "engine before is gone"),
        ({"layout": b"other"}, "KV caches differ"),
    ],
)
def test_strangers_are_refused_in_words(producer, talk, fields, says):
    with pytest.raises(TransferError, match=says):
        talk(hello(producer, **fields))
    with pytest.raises(TransferError, match="begins with"):
        talk(claim(producer.lease()[0]))


def test_a_conversation(producer, talk):
    lease, _ = producer.lease()
    assert talk(hello(producer)) == Welcome(metadata=b"here")
    assert talk(claim(lease)) == Claimed(first_end=0)
    staged = talk(Stage(start=0, end=7))
    assert isinstance(staged, Staged)
    assert talk(Verify(stamp=staged.stamp)) == Verified()
    for message in (Verify(stamp=staged.stamp), claim(lease), Verified()):
        with pytest.raises(TransferError, match="out of order"):
            talk(message)


@pytest.mark.parametrize("start, end", [(0, 22), (5, 5), (-1, 3), (4, 2), (0, 1 << 40)])
def test_only_what_the_lease_has_is_staged(producer, talk, start, end):
    talk(hello(producer))
    talk(claim(producer.lease()[0]))
    with pytest.raises(TransferError, match="not to be had"):
        talk(Stage(start=start, end=end))


def test_what_was_staged_is_verified_once_and_by_its_stamp(producer, talk):
    talk(hello(producer))
    talk(claim(producer.lease()[0]))
    first = talk(Stage(start=0, end=7))
    talk(Stage(start=7, end=9))
    with pytest.raises(TransferError, match="not what was staged"):
        talk(Verify(stamp=first.stamp))


def test_a_lease_that_ended_is_noticed_after_the_copy(producer, talk):
    lease, _ = producer.lease()
    talk(hello(producer))
    talk(claim(lease))
    staged = talk(Stage(start=0, end=7))
    producer.leases.cancel([lease.number])
    with pytest.raises(TransferError, match="does not exist"):
        talk(Verify(stamp=staged.stamp))


def test_the_end_of_a_conversation_gives_all_back(producer):
    lease, _ = producer.lease()
    conversation = Conversation(producer.server)
    conversation.answer(hello(producer))
    conversation.answer(claim(lease))
    conversation.answer(Stage(start=0, end=7))
    conversation.end()
    assert producer.leases.take_ended() == {lease.number}
    slots = [producer.staging.take(0) for _ in range(2)]
    assert len(slots) == 2


def test_a_release_needs_its_secret(producer, talk):
    lease, _ = producer.lease()
    assert talk(Release(number=lease.number, generation="guess")) == Verified()
    assert producer.leases.take_ended() == set()
    talk(Release(number=lease.number, generation=lease.generation))
    assert producer.leases.take_ended() == {lease.number}


def test_over_a_socket_with_strangers_in_between(producer):
    lease, _ = producer.lease()
    with socket.create_connection(("127.0.0.1", producer.server.port), 30) as stranger:
        stranger.sendall(b"GET / HTTP/1.1\r\n\r\n")
        answer = receive(stranger)
        assert isinstance(answer, Refused) and "none of this protocol" in answer.reason
    with socket.create_connection(("127.0.0.1", producer.server.port), 30) as peer:
        send(peer, hello(producer))
        assert isinstance(receive(peer), Welcome)
        send(peer, claim(lease))
        assert isinstance(receive(peer), Claimed)
    assert producer.ended() == {lease.number}, "who is gone has released its lease"


def test_a_reader_is_waited_for_while_its_lease_is_renewed_and_no_longer(make):
    now = [0.0]
    producer = make(seconds=0.2, clock=lambda: now[0])
    lease, _ = producer.lease()
    with socket.create_connection(("127.0.0.1", producer.server.port), 30) as peer:
        send(peer, hello(producer))
        assert isinstance(receive(peer), Welcome)
        send(peer, claim(lease))
        assert isinstance(receive(peer), Claimed)
        for _ in range(3):
            now[0] += 0.15
            assert producer.leases.renew(lease.number, lease.generation)
            time.sleep(0.25)  # its patience with a socket
        send(peer, Stage(start=0, end=7))
        assert isinstance(receive(peer), Staged)
        now[0] += 0.25
        assert producer.ended() == {lease.number}, "it expires where nobody renews it"
        assert receive(peer) is None


def test_renewing_says_what_is_gone(producer, talk):
    lease, _ = producer.lease()
    there, gone, coming = (lease.number, lease.generation), (lease.number, "guess"), (lease.number + 1, "next")
    assert talk(Renew(leases=(there, gone, coming))) == Renewed(seconds=30.0, gone=("guess",))


def test_close_ends_connections(producer):
    with socket.create_connection(("127.0.0.1", producer.server.port), 30) as peer:
        send(peer, hello(producer))
        assert isinstance(receive(peer), Welcome)
        producer.server.close()
        assert receive(peer) is None
