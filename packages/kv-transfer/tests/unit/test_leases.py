from __future__ import annotations

import threading

import pytest

from kernelet_kv_transfer.counts import Counts
from kernelet_kv_transfer.errors import TransferError
from kernelet_kv_transfer.leases import Leases
from kernelet_kv_transfer.messages import Lease

KEY = b"key"


def lease(number, generation="secret"):
    return Lease(number=number, generation=generation, key=KEY, num_tokens=4, block_ids=((1,),))


@pytest.fixture
def now():
    return [0.0]


@pytest.fixture
def counts():
    return Counts()


@pytest.fixture
def leases(now, counts):
    made = Leases(10.0, counts, lambda: now[0])
    made.add([lease(1), lease(2)])
    return made


def test_a_reader_ends_its_lease(leases):
    assert leases.claim(1, "secret", KEY, 0) == lease(1)
    leases.verify(lease(1))
    leases.release(1, "secret", by_reader=True)
    with pytest.raises(TransferError, match="does not exist"):
        leases.verify(lease(1))
    assert leases.take_ended() == {1}
    assert leases.take_ended() == set()
    assert len(leases) == 1


def test_it_lives_while_somebody_wants_it(leases, now):
    for _ in range(5):
        now[0] += 9.0
        assert leases.renew(1, "secret")
        assert not leases.renew(1, "guess")
    assert leases.take_ended() == {2}
    assert leases.renew(3, "secret"), "it may be on its way here"
    assert not leases.renew(2, "secret")
    leases.cancel([1, 4])
    assert not leases.renew(1, "secret") and not leases.renew(4, "secret")


@pytest.mark.parametrize(
    "number, generation, key, says",
    [(9, "secret", KEY, "does not exist"), (1, "other", KEY, "does not exist"), (1, "secret", b"other", "not the one")],
)
def test_who_does_not_know_it_does_not_get_it(leases, number, generation, key, says):
    with pytest.raises(TransferError, match=says):
        leases.claim(number, generation, key, 0)
    leases.release(number, "guess", by_reader=True)
    assert leases.take_ended() == set()


def test_one_reader_at_a_time_and_only_it_releases(leases):
    leases.claim(1, "secret", KEY, 0)
    with pytest.raises(TransferError, match="read by another"):
        leases.claim(1, "secret", KEY, 0)
    leases.release(1, "secret", by_reader=False)
    assert leases.take_ended() == set()
    leases.release(2, "secret", by_reader=False)
    assert leases.take_ended() == {2}


def test_leases_expire_unless_somebody_reads(leases, now, counts):
    leases.claim(1, "secret", KEY, 0)
    now[0] = 9.0
    leases.verify(lease(1))
    now[0] = 11.0
    assert leases.take_ended() == {2}
    now[0] = 19.0
    assert leases.take_ended() == {1}
    assert counts.take()["leases_expired"] == 2


def test_a_lease_that_expires_while_it_is_read_ends_after_that(leases, now):
    held = leases.claim(1, "secret", KEY, 0)
    with leases.reading(held):
        now[0] = 100.0
        assert 1 not in leases.take_ended()
    assert leases.take_ended() == {1}
    with pytest.raises(TransferError), leases.reading(held):
        pass


def test_a_claim_may_be_faster_than_its_lease(leases):
    found = []
    thread = threading.Thread(target=lambda: found.append(leases.claim(7, "secret", KEY, 60)))
    thread.start()
    leases.add([lease(7)])
    thread.join(60)
    assert found == [lease(7)]


def test_nobody_waits_for_a_number_that_was_cancelled(leases):
    leases.cancel([7])
    with pytest.raises(TransferError, match="does not exist"):
        leases.claim(7, "secret", KEY, 3600)


def test_cancel_is_a_fence(leases):
    held, inside, leave, order = leases.claim(1, "secret", KEY, 0), threading.Event(), threading.Event(), []

    def read():
        with leases.reading(held):
            inside.set()
            leave.wait(60)
            order.append("read")

    def cancel():
        leases.cancel([1, 5])
        order.append("cancelled")

    threads = [threading.Thread(target=read), threading.Thread(target=cancel)]
    threads[0].start()
    assert inside.wait(60)
    threads[1].start()
    leave.set()
    for thread in threads:
        thread.join(60)
    assert order == ["read", "cancelled"]
    assert leases.take_ended() == set(), "who cancels knows"
