from __future__ import annotations

import threading

import msgspec
import pytest
from transfer_pairs import PATIENCE, ShortLived, wait_for

from kernelet.testing.kv_connector.pages import plain_layout, same
from kernelet_kv_transfer.errors import AbandonedError, TransferError


def check(producer, consumer, lease, load, valid):
    """The first tokens of a load are the producer's, and no other token changed."""
    other = type(consumer.pages)(consumer.pages.layouts)
    other.fill(2)
    for layout in consumer.pages.layouts:
        group = layout.group
        for layer in layout.layers:
            ours = consumer.pages.read(layer, load.block_ids[group], load.start, load.start + valid)
            theirs = producer.pages.read(layer, lease.block_ids[group], load.start, load.start + valid)
            assert same(ours, theirs)
            blocks = load.block_ids[group]
            rest = consumer.pages.read(layer, blocks, 0, load.start)
            assert same(rest, other.read(layer, blocks, 0, load.start))


@pytest.mark.parametrize("start, end", [(0, 20), (0, 21), (4, 20), (6, 7), (2, 13)])
def test_a_load_takes_what_it_was_told_and_releases_the_lease(make, start, end):
    parts = []
    producer = make()
    consumer = make.consumer(producer, after_part=lambda transfer, part: parts.append((transfer, part)))
    lease, remote = producer.lease()
    load = consumer.load(5, remote, start, end)
    assert consumer.received() == {5: end - start}
    check(producer, consumer, lease, load, end - start)
    assert parts == [(5, part) for part in range(min(8, end - start))]
    assert producer.ended() == {lease.number}
    assert consumer.loads.take_received() == {}
    counts = consumer.counts.take()
    assert counts["loads"] == 1 and counts["bytes_received"] > 0
    assert len(producer.staging._free) == 2 and len(consumer.staging._free) == 2


def test_several_at_once_with_fewer_buffers(make):
    producer = make(buffers=1)
    consumer = make.consumer(producer, threads=3)
    leases = [producer.lease() for _ in range(9)]
    for number, (_, remote) in enumerate(leases):
        consumer.load(number, remote)
    seen = {}
    while len(seen) < 9:
        seen |= consumer.received()
    assert seen == dict.fromkeys(range(9), 20)


@pytest.mark.parametrize("part", range(8))
def test_what_came_before_a_failure_is_valid(make, part):
    producer = make()
    consumer = make.consumer(producer)
    lease, remote = producer.lease()

    def fail(over):
        if producer.transport.reads == part + 1:
            raise TransferError("broken")

    producer.transport.before = fail
    load = consumer.load(1, remote)
    (valid,) = consumer.received().values()
    assert valid == 20 * part // 8
    check(producer, consumer, lease, load, valid)
    assert producer.transport.disconnected == [b"here"]
    assert producer.ended() == {lease.number}
    assert consumer.counts.take()["load_failures"] == 1


@pytest.mark.parametrize("part", range(8))
def test_a_lease_that_ends_while_it_is_read_is_a_failure_from_there_on(make, part):
    """Its blocks have another owner: what is copied then must not count."""
    producer = make()
    consumer = make.consumer(producer)
    lease, remote = producer.lease()

    def reuse(over):
        if producer.transport.reads == part + 1:
            producer.leases.cancel([lease.number])
            producer.pages.fill(99)

    before = producer.pages.snapshot()
    producer.transport.before = reuse
    load = consumer.load(1, remote)
    (valid,) = consumer.received().values()
    assert valid == 20 * part // 8
    for layer, parts in before.items():
        for held, old in zip(producer.pages.tensors[layer], parts, strict=True):
            held.copy_(old)
    check(producer, consumer, lease, load, valid)


@pytest.mark.parametrize(
    "fields",
    [
        {"remote_engine_id": "before"},
        {"remote_lease": 0},
        {"remote_generation": "guess"},
        {"remote_ranks": (("127.0.0.1", 1),)},
        {"tp_size": 2},
    ],
)
def test_what_is_not_there_fails_at_once(make, fields):
    producer = make()
    consumer = make.consumer(producer)
    consumer.load(1, msgspec.structs.replace(producer.lease()[1], **fields))
    assert consumer.received() == {1: 0}


def test_another_request_gets_nothing_and_the_lease_is_released(make):
    producer = make()
    consumer = make.consumer(producer)
    lease, remote = producer.lease()
    consumer.load(1, remote, key=b"other")
    assert consumer.received() == {1: 0}
    assert producer.ended() == {lease.number}


def test_another_layout_gets_nothing_and_the_lease_is_released(make):
    producer = make()
    consumer = make.consumer(producer, layouts=[plain_layout(num_kv_heads=4)])
    lease, remote = producer.lease()
    consumer.load(1, remote)
    assert consumer.received() == {1: 0}
    assert producer.ended() == {lease.number}


def test_cancel_is_a_fence_at_every_part(make):
    producer, transfers = make(), iter(range(100))
    consumer = make.consumer(producer, threads=1)
    for part in range(9):
        transfer, (lease, remote) = next(transfers), producer.lease()
        reached, go_on = threading.Event(), threading.Event()
        first = producer.transport.reads

        def hold(over, first=first, part=part, reached=reached, go_on=go_on):
            if producer.transport.reads == first + part + 1:
                reached.set()
                assert go_on.wait(PATIENCE)

        producer.transport.before = hold
        consumer.load(transfer, remote)
        if part < 8:
            assert reached.wait(PATIENCE)
            consumer.loads.cancel([transfer, 1000])
            before = consumer.pages.snapshot()
            go_on.set()
        else:
            assert consumer.received() == {transfer: 20}
            before = consumer.pages.snapshot()
            consumer.loads.cancel([transfer])
        assert producer.ended() == {lease.number}
        assert all(same(parts, before[layer]) for layer, parts in consumer.pages.snapshot().items())
        assert consumer.loads.take_received() == {}


def test_what_was_cancelled_before_its_turn_is_released_too(make):
    producer = make()
    consumer = make.consumer(producer, threads=1)
    blocked, go_on = producer.lease(), threading.Event()
    producer.transport.before = lambda over: go_on.wait(PATIENCE)
    consumer.load(1, blocked[1])
    waiting, remote = producer.lease()
    consumer.load(2, remote)
    consumer.loads.cancel([2])
    go_on.set()
    assert consumer.received() == {1: 20}
    ended = set()
    while ended != {blocked[0].number, waiting.number}:
        ended |= producer.ended()


def test_a_deadline_ends_a_read_that_never_does(make):
    producer, settled = make(), threading.Event()
    consumer = make.consumer(producer, seconds=0.2)
    lease, remote = producer.lease()

    def never(over):
        wait_for(over)
        raise AbandonedError("given up", settled.is_set)

    producer.transport.before = never
    consumer.load(1, remote)
    assert consumer.received() == {1: 0}
    assert producer.ended() == {lease.number}
    assert consumer.staging.num_abandoned == 1
    assert not producer.transport.disconnected, "the peer may be well"
    settled.set()
    assert consumer.staging.num_abandoned == 0


def test_a_part_that_takes_longer_than_the_lease_renews_it(make, monkeypatch):
    lived = ShortLived(make, monkeypatch)
    producer = lived.producer
    consumer = make.consumer(producer)
    lease, remote = producer.lease()
    producer.transport.before = lambda over: lived.passes() if producer.transport.reads == 3 else None
    load = consumer.load(1, remote)
    assert consumer.received() == {1: 20}
    check(producer, consumer, lease, load, 20)
    assert producer.ended() == {lease.number}
    wait_for(lambda: not consumer.renewals._owners)


def test_a_load_that_waits_for_its_turn_keeps_its_lease(make, monkeypatch):
    lived = ShortLived(make, monkeypatch)
    producer = lived.producer
    consumer = make.consumer(producer, threads=1)
    loads = [producer.lease() for _ in range(2)]
    go_on = threading.Event()
    producer.transport.before = lambda over: go_on.wait(PATIENCE)
    for transfer, (_, remote) in enumerate(loads):
        consumer.load(transfer, remote)
    lived.passes()
    go_on.set()
    seen = {}
    while len(seen) < 2:
        seen |= consumer.received()
    assert seen == {0: 20, 1: 20}


def test_of_a_window_only_what_is_kept_counts(make):
    layouts = [plain_layout(window=6)]
    producer = make(layouts=layouts)
    consumer = make.consumer(producer, layouts=layouts)
    blocks = ((0, 0, 3, 4, 5, 6),)
    for end, valid in ((21, 21), (13, 13), (12, 0)):
        _, remote = producer.lease(blocks=blocks)
        consumer.load(end, remote, end=end, blocks=((7, 8, 9, 10, 11, 12),))
        assert consumer.received() == {end: valid}


def test_300_that_are_cancelled_leave_nothing_behind(make):
    producer = make()
    consumer = make.consumer(producer, threads=2)
    ended, wanted = set(), set()
    for transfer in range(300):
        lease, remote = producer.lease()
        wanted.add(lease.number)
        consumer.load(transfer, remote)
        consumer.loads.cancel([transfer])
        ended |= producer.leases.take_ended()
    while ended != wanted:
        ended |= producer.ended()
    lease, remote = producer.lease()
    load = consumer.load(1000, remote)
    assert consumer.received() == {1000: 20}
    check(producer, consumer, lease, load, 20)
    wait_for(lambda: len(producer.staging._free) == 2 and len(consumer.staging._free) == 2)
    wait_for(lambda: not len(producer.leases))
    assert not consumer.loads._running
