from __future__ import annotations

import socket
import threading

import msgspec
import pytest
from transfer_pairs import KEY, SECRET

from kernelet_kv_transfer.client import Connection
from kernelet_kv_transfer.errors import TransferError
from kernelet_kv_transfer.messages import Verified, receive, send


def test_it_asks_and_is_answered(make):
    producer = make()
    lease, remote = producer.lease()
    with Connection(remote, 0, 1, 30) as connection:
        assert connection.place == ("127.0.0.1", producer.server.port)
        assert connection.hello("memory", producer.server.layout) == b"here"
        assert connection.claim(KEY) == 0
        connection.verify(connection.stage(0, 3).stamp)
        with Connection(remote, 0, 1, 30) as other:
            other.hello("memory", producer.server.layout)
            with pytest.raises(TransferError, match=r"refuses: .* being read by another"):
                other.claim(KEY)
    assert producer.ended() == {lease.number}


def test_a_release(make):
    producer = make()
    lease, remote = producer.lease()
    with Connection(remote, 0, 1, 30) as connection:
        connection.release()
    assert producer.leases.take_ended() == {lease.number}


def test_leases_are_renewed_at_once(make):
    producer = make(seconds=7.0)
    wanted = [producer.lease()[1] for _ in range(3)]
    producer.leases.release(wanted[1].remote_lease, wanted[1].remote_generation, by_reader=True)
    guessed = msgspec.structs.replace(wanted[0], remote_generation="guess")
    with Connection(wanted[0], 0, 1, 30) as connection:
        renewed = connection.renew([*wanted, guessed])
    assert (renewed.seconds, renewed.gone) == (7.0, (SECRET + "2", "guess"))


def test_other_ranks_and_places_that_are_not_there(make):
    remote = make().lease()[1]
    with pytest.raises(TransferError, match="has 1 ranks, this one has 2"):
        Connection(remote, 0, 2, 30)
    for place in (("127.0.0.1", 1), ("127.0.0.1", 1 << 20), ("", -1)):
        nowhere = msgspec.structs.replace(remote, remote_ranks=(place,))
        with pytest.raises(TransferError, match="cannot be reached"):
            Connection(nowhere, 0, 1, 30)


@pytest.fixture
def silent(make):
    """A place that takes a connection, and where it leads."""
    remote = make().lease()[1]
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield msgspec.structs.replace(remote, remote_ranks=(listener.getsockname()[:2],)), listener


def test_silence_ends_in_time_or_by_interrupt(silent):
    remote, _ = silent
    with Connection(remote, 0, 1, 0.05) as connection, pytest.raises(TransferError, match="does not answer"):
        connection.release()
    with Connection(remote, 0, 1, 3600) as connection:
        threading.Timer(0.05, connection.interrupt).start()
        with pytest.raises(TransferError, match=r"given up|ended the connection"):
            connection.release()


def test_answers_out_of_order(silent):
    remote, listener = silent
    with Connection(remote, 0, 1, 30) as connection:
        peer, _ = listener.accept()
        with peer:
            send(peer, Verified())
            with pytest.raises(TransferError, match="Verified out of order"):
                connection.claim(KEY)
            assert receive(peer) is not None
            peer.shutdown(socket.SHUT_WR)
            with pytest.raises(TransferError, match="ended the connection"):
                connection.claim(KEY)
