from __future__ import annotations

import socket
import time

import msgspec
import pytest
from transfer_pairs import PATIENCE, ShortLived, wait_for

from kernelet_kv_transfer import renewals as module
from kernelet_kv_transfer.messages import Renew, Renewed, receive, send
from kernelet_kv_transfer.renewals import Renewals


@pytest.fixture
def renewals():
    made = Renewals(0, 1)
    yield made
    assert made.close(PATIENCE)


@pytest.fixture
def owner(make):
    """Takes questions, and answers them when told; ``remote`` is a lease of its."""
    remote = make().lease()[1]
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer(**told):
            peer, _ = listener.accept()
            with peer:
                asked = receive(peer)
                assert isinstance(asked, Renew)
                send(peer, Renewed(**told))
            return asked.leases

        answer.remote = msgspec.structs.replace(remote, remote_ranks=(listener.getsockname()[:2],))
        yield answer


def another(remote, number):
    return msgspec.structs.replace(remote, remote_lease=number, remote_generation=f"secret {number}")


def leases(*remotes):
    return tuple((each.remote_lease, each.remote_generation) for each in remotes)


def idle(renewals):
    """Whether nothing is renewed, and no thread is left."""
    return not renewals._owners and not renewals._threads


def test_a_lease_lives_until_it_is_dropped(make, renewals, monkeypatch):
    lived = ShortLived(make, monkeypatch)
    kept = lived.producer.lease()[1]
    renewals.add([kept])
    lived.passes()
    left = lived.producer.lease()[1]
    lived.now += 0.07
    renewals.drop(kept)
    wait_for(lambda: idle(renewals))
    lived.now += 0.1
    assert lived.producer.ended() == {kept.remote_lease, left.remote_lease}


def test_what_is_taken_at_once_is_never_asked_for(owner, renewals, monkeypatch):
    monkeypatch.setattr(module, "FIRST", 3600.0)
    renewals.add([owner.remote])
    renewals.drop(owner.remote)
    wait_for(lambda: idle(renewals))


def test_all_of_an_owner_are_told_at_once_again_after_a_third_and_what_is_gone_is_dropped(owner, renewals):
    two, three = another(owner.remote, 2), another(owner.remote, 3)
    renewals.add([owner.remote, two])
    assert owner(seconds=0.9, gone=("secret 2",)) == leases(owner.remote, two)
    told = time.monotonic()
    assert owner(seconds=1e9) == leases(owner.remote)
    assert time.monotonic() - told > 0.25
    renewals.add([three])  # the owner would be told in an hour: a new one does not wait so long
    assert owner(seconds=30.0) == leases(owner.remote, three)
    for each in (owner.remote, three):
        renewals.drop(each)
    wait_for(lambda: idle(renewals))


def test_an_owner_that_does_not_answer_is_asked_again_and_delays_no_other(make, owner, renewals, monkeypatch):
    monkeypatch.setattr(module, "AGAIN", 0.01)
    monkeypatch.setattr(module, "SECONDS", 0.2)
    lived = ShortLived(make, monkeypatch)
    renewals.add([another(owner.remote, 9)])
    renewals.add([lived.producer.lease()[1]])
    lived.passes()
    monkeypatch.setattr(module, "SECONDS", PATIENCE)
    while owner(seconds=30.0) != leases(another(owner.remote, 9)):
        pass


def test_leases_of_another_number_of_ranks_are_the_loads_to_complain_of(owner, renewals):
    renewals.add([msgspec.structs.replace(owner.remote, tp_size=2)])
    assert idle(renewals)


def test_after_the_end_nothing_is_renewed(owner):
    made = Renewals(0, 1)
    made.add([owner.remote])
    assert made.close(PATIENCE)
    made.add([owner.remote])
    assert idle(made)
