from __future__ import annotations

import logging
import time

import pytest
from fake_lmcache import CHUNK, offered

from kernelet.testing.kv_connector import KVConnectorCapabilities, KVConnectorSuite
from kernelet.testing.kv_connector.scene import Scene

CAPABILITIES = KVConnectorCapabilities(chunk=CHUNK, shared=True, persistent=True, patience=60.0, examples=5)
TOKENS = [9, *range(100, 100 + 3 * CHUNK)]


class TestSuite(KVConnectorSuite):
    """The connector passes its suite, whatever the store behind it is."""

    capabilities = CAPABILITIES

    @pytest.fixture
    def offered(self, monkeypatch):
        return offered(monkeypatch, buffer_mb=1)[0]


@pytest.fixture
def scene_of(monkeypatch):
    scenes = []

    def make(**options):
        found, store = offered(monkeypatch, **options)
        scenes.append(Scene(found, CAPABILITIES))
        return scenes[-1], store

    yield make
    for scene in scenes:
        scene.close()


def counted(rig, name):
    return sum(worker.get_kv_connector_stats().get(name, 0) for worker in rig.workers)


def test_chunks_that_there_is_no_room_for_are_saved_later(scene_of):
    """Two slots, of which one is for saves: the others of a step wait for the next ones."""
    scene, store = scene_of(buffer_mb=0)
    rig = scene.rig()
    scene.put(rig, TOKENS)
    held, ticket = scene.find(rig, TOKENS, None, known=len(TOKENS))
    rig.load(held, ticket)
    rig.finish(held)
    assert len(store.chunks) == 3


def test_a_spoiled_chunk_is_a_miss_with_a_warning_and_is_stored_anew(scene_of, caplog):
    scene, store = scene_of()
    rig = scene.rig()
    scene.put(rig, TOKENS)
    scene.find(rig, TOKENS, None, known=len(TOKENS))
    name = sorted(store.chunks, key=lambda name: len(name[2]))[1]
    data = bytearray(store.chunks[name])
    data[5] ^= 16
    store.chunks[name] = bytes(data)
    held, ticket = scene.find(rig, TOKENS, None, known=len(TOKENS))
    with caplog.at_level(logging.WARNING):
        assert rig.load(held, ticket) == CHUNK
    assert caplog.text.count("is not what was stored") == 1
    assert counted(rig, "spoiled_chunks") == 1
    rig.prefill(held)
    rig.finish(held)
    again, ticket = scene.find(rig, TOKENS, None, known=len(TOKENS))
    assert rig.load(again, ticket) == ticket.num_tokens > CHUNK, "it was stored anew"
    rig.finish(again)


def test_a_store_that_ends_is_a_miss_with_one_warning_and_is_met_again(scene_of, caplog):
    scene, store = scene_of()
    rig = scene.rig()
    scene.put(rig, TOKENS)
    scene.find(rig, TOKENS, None, known=len(TOKENS))
    store.alive = False
    with caplog.at_level(logging.INFO):
        for _ in range(3):
            held = rig.add(TOKENS)
            assert rig.ask(held) is None
            rig.prefill(held)
            rig.finish(held)
            time.sleep(0.05)
        assert caplog.text.count("does not answer") == 1
        store.alive = True
        held, ticket = scene.find(rig, TOKENS, None, known=len(TOKENS))
    assert "answers again" in caplog.text
    rig.load(held, ticket)
    rig.finish(held)


def test_a_store_that_is_not_there_at_first(scene_of, caplog):
    scene, store = scene_of(start_timeout=0.1)
    store.alive = False
    with caplog.at_level(logging.WARNING):
        rig = scene.rig()
        held = rig.add(TOKENS)
        assert rig.ask(held) is None
        rig.prefill(held)
        rig.finish(held)
    assert caplog.text.count("does not answer") <= 1
    store.alive = True
    rig.until(lambda: rig.scheduler._usable, "the store must be met once it is there")
    scene.put(rig, TOKENS)
    held, ticket = scene.find(rig, TOKENS, None, known=len(TOKENS))
    rig.load(held, ticket)
    rig.finish(held)


def test_nothing_is_held_once_requests_are_over(scene_of):
    """Each chunk that a lookup found is loaded or let go, on both ranks."""
    scene, store = scene_of()
    rig = scene.rig(world_size=2)
    scene.put(rig, TOKENS)
    for leave in (1, CHUNK + 1, 2 * CHUNK):
        held, ticket = scene.find(rig, TOKENS, None, known=len(TOKENS))
        rig.load(held, ticket, leave=leave)
        rig.finish(held)
    held, _ = scene.find(rig, TOKENS, None, known=len(TOKENS))
    rig.scheduler.abort(held.request)
    rig.finish(held)
    rig.until(lambda: not any(store.held.values()), f"chunks are held: {store.held}")
