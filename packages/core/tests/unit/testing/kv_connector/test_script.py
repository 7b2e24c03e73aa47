from __future__ import annotations

import torch

from kernelet.testing.kv_connector.script import EndScript, LoadScript, Store, World


def test_a_script_is_played_in_turn():
    world = World([LoadScript(polls=1), LoadScript(polls=2)], [EndScript(holds=True)])
    assert [world.next_load().polls for _ in range(3)] == [1, 2, 1]
    assert world.next_end().holds
    assert World().next_load() == LoadScript()


def test_a_store_keeps_the_first_and_dies_with_all():
    store, one = Store(), (torch.ones(1),)
    store.put(b"key", 0, "layer", one)
    store.put(b"key", 0, "layer", (torch.zeros(1),))
    assert store.tokens[b"key"][0, "layer"] is one
    assert store.has(b"key", 1)
    assert not store.has(b"key", 2)
    store.die()
    store.put(b"key", 0, "layer", one)
    assert not store.has(b"key", 1)
    store.restart()
    assert not store.has(b"key", 1)
    store.put(b"key", 0, "layer", one)
    assert store.has(b"key", 1)
