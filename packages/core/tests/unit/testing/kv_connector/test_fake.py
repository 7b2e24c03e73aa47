"""What a script says is what happens; the golden rule (tests/kv) plays all of it."""

from __future__ import annotations

import pytest

from kernelet.testing.kv_connector.fake import STRANGER, FakeWorker, fake_offer, kept
from kernelet.testing.kv_connector.pages import plain_layout
from kernelet.testing.kv_connector.rig import Rig
from kernelet.testing.kv_connector.script import EndScript, LoadScript, World
from kernelet.testing.verdict import ConformanceError

TOKENS = list(range(20))


def warm(*loads, ends=()):
    """An engine that has computed the prompt, and a request that comes after it."""
    world = World([LoadScript(), *loads], ends)
    rig = Rig(fake_offer(world), [[plain_layout()]], patience=0.2)
    first = rig.add(TOKENS)
    rig.ask(first)
    rig.prefill(first, 6)
    rig.finish(first)
    return world, rig, rig.add(TOKENS)


@pytest.mark.parametrize("sync", [False, True])
def test_promises_and_delivers_less(sync):
    world, rig, held = warm(LoadScript(promised=0.5, delivered=0.6, sync=sync))
    ticket = rig.ask(held)
    assert (ticket.num_tokens, ticket.load_async) == (10, not sync)
    assert rig.load(held, ticket) == 6
    assert (world.did["partial"], world.did["failed"]) == (1, 1)


def test_says_later_and_is_late():
    world, rig, held = warm(LoadScript(later=3, polls=2))
    ticket = rig.ask(held)
    assert world.did["later"] == 3
    assert rig.load(held, ticket) == 19


def test_a_store_that_dies_brings_nothing():
    world, rig, held = warm(LoadScript())
    ticket = rig.ask(held)
    world.store.die()
    with pytest.raises(ConformanceError, match="never named it"):
        rig.load(held, ticket)
    world.store.restart()
    assert rig.ask(rig.add(TOKENS)) is None


def test_confirms_strangers_and_twice():
    _, rig, held = warm(LoadScript(stranger=True, times=2))
    rig.start_load(held, rig.ask(held))
    meta = rig._meta(())
    worker = rig.workers[0]
    worker.bind_connector_metadata(meta)
    worker.start_load_kv()
    first, second = worker.get_finished().received, worker.get_finished().received
    assert first.keys() - second.keys() == {STRANGER}
    assert list(second.values()) == [19]


def test_holds_blocks():
    world, rig, held = warm(ends=[EndScript(), EndScript(holds=True, polls=2)])
    rig.prefill(held)
    assert rig.finish(held).holds_blocks
    rig.wait_for_handovers()
    assert world.did["held"] == 1


def test_stretches_that_are_there():
    assert kept([3, 0, 5, 6], 4, 2, 15) == [(2, 4), (8, 15)]
    assert kept([0, 1], 4, 0, 4) == []
    assert kept([1, 2], 4, 1, 8) == [(1, 8)]


def test_the_offer_names_both_classes():
    offered = fake_offer(World(), "one", max_groups=1)
    assert (offered.offer.name, offered.offer.max_groups) == ("one", 1)
    assert offered.offer.worker.endswith(f":{FakeWorker.__name__}")
