from __future__ import annotations

import threading

import msgspec
import pytest

from kernelet.contracts.kv import KVWorkerContext
from kernelet.errors import ConfigError
from kernelet.testing.kv_connector.pages import PlainPages, plain_layout, same
from kernelet.testing.kv_connector.requests import IDENTITY
from kernelet_kv_mooncake.store_orders import Chunk, Fetch, Lookup, Orders, Report, Save
from kernelet_kv_mooncake.store_worker import StoreWorker

BLOCKS = ((1, 2, 3, 4),)
CHUNKS = tuple(Chunk(key=bytes([index]) * 32, start=index * 4, end=index * 4 + 4) for index in range(4))
KEYS = tuple(chunk.key for chunk in CHUNKS)


@pytest.fixture
def make(fake_mooncake, settings):
    made = []

    def worker(seed, rank=0, **values):
        pages = PlainPages([plain_layout(rank=rank, world_size=2)])
        pages.fill(seed)
        context = KVWorkerContext(identity=IDENTITY, role="both", engine_id="e", pages=pages, rank=rank, world_size=2)
        made.append(StoreWorker(settings(**values), context))
        made[-1].pages = pages
        return made[-1]

    yield worker
    for one in made:
        one.shutdown()


def step(worker, **orders):
    worker.bind_connector_metadata(msgspec.msgpack.encode(Orders(**orders)))
    worker.start_load_kv()
    worker.wait_for_save()
    worker.bind_connector_metadata(b"")


def save(worker, *chunks):
    step(worker, saves=tuple(Save(chunk=chunk, block_ids=BLOCKS) for chunk in chunks))


def wait_for(ask):
    pause = threading.Event()
    for _ in range(30000):
        if found := ask():
            return found
        pause.wait(0.002)
    raise AssertionError("it never came")


def report(worker):
    return msgspec.msgpack.decode(wait_for(worker.build_connector_worker_meta), type=Report)


def fetch(worker, transfer, start=0, end=16, chunks=CHUNKS):
    step(worker, fetches=(Fetch(transfer=transfer, chunks=chunks, start=start, end=end, block_ids=BLOCKS),))
    return wait_for(lambda: worker.get_finished().received)


def stored(worker, fake, count):
    wait_for(lambda: len(fake.objects) == count)


@pytest.mark.parametrize("start, end", [(0, 16), (2, 15), (5, 6), (4, 8)])
def test_what_one_stores_another_loads(make, fake_mooncake, start, end):
    one, other = make(1), make(2)
    save(one, *CHUNKS)
    stored(one, fake_mooncake, 4)
    before = other.pages.snapshot()
    inside = CHUNKS[start // 4 : -(-end // 4)]
    assert fetch(other, 7, start, end, inside) == {7: end - start}
    for layer in one.pages.layouts[0].layers:
        assert same(other.pages.read(layer, BLOCKS[0], start, end), one.pages.read(layer, BLOCKS[0], start, end))
    after = other.pages.snapshot()
    other.pages.tensors = before
    outside = {(a, b): other.pages.read("layers.0", BLOCKS[0], a, b) for a, b in ((0, start), (end, 16))}
    other.pages.tensors = after
    for (a, b), parts in outside.items():
        assert same(parts, other.pages.read("layers.0", BLOCKS[0], a, b))
    assert other.get_kv_connector_stats()["loads"] == 1


def test_lookups_count_from_the_first(make, fake_mooncake):
    worker = make(1)
    save(worker, CHUNKS[0], CHUNKS[1], CHUNKS[3])
    stored(worker, fake_mooncake, 3)
    step(worker, lookups=(Lookup(number=5, keys=KEYS),))
    assert report(worker).found == {5: 2}
    assert worker.build_connector_worker_meta() == b""


def test_ranks_have_objects_of_their_own(make, fake_mooncake):
    one, other = make(1), make(2, rank=1)
    save(one, CHUNKS[0])
    save(other, CHUNKS[0])
    stored(one, fake_mooncake, 2)
    assert len({name[-64:] for name in fake_mooncake.objects}) == 1


@pytest.mark.parametrize("missing", range(4))
def test_what_is_gone_in_between_ends_the_load_there(make, fake_mooncake, missing):
    worker = make(1)
    save(worker, *CHUNKS)
    stored(worker, fake_mooncake, 4)
    del fake_mooncake.objects[worker._name(KEYS[missing])]
    assert fetch(worker, 7) == {7: 4 * missing}
    assert worker.get_kv_connector_stats()["load_failures"] == 1


def test_a_store_that_does_not_answer_is_a_miss_and_stores_nothing(make, fake_mooncake, monkeypatch):
    worker = make(1)
    monkeypatch.setattr(fake_mooncake, "alive", False)
    save(worker, CHUNKS[0])
    assert report(worker).unsaved == (KEYS[0],)
    step(worker, lookups=(Lookup(number=5, keys=KEYS),))
    assert report(worker).found == {5: 0}
    assert fetch(worker, 7) == {7: 0}
    save(worker, CHUNKS[1])
    assert report(worker).unsaved == (KEYS[1],)
    counted = worker.get_kv_connector_stats()
    assert (counted["lookup_failures"], counted["save_failures"], counted["saves_left_out"]) == (1, 1, 1)


def test_a_store_that_fails_is_no_end(make, fake_mooncake, monkeypatch, caplog):
    worker = make(1)

    def fail(*arguments):
        raise RuntimeError("broken")

    for name in ("batch_is_exist", "put_parts", "get"):
        monkeypatch.setattr(fake_mooncake, name, fail)
    save(worker, CHUNKS[0])
    assert report(worker).unsaved == (KEYS[0],)
    step(worker, lookups=(Lookup(number=5, keys=KEYS),))
    assert report(worker).found == {5: 0}
    assert fetch(worker, 7) == {7: 0}
    assert "broken" in caplog.text


def test_a_step_never_waits_for_the_store(make, fake_mooncake, monkeypatch):
    """While the store does not answer, what waits is bounded, and the rest is left out."""
    gate, put = threading.Event(), fake_mooncake.put_parts

    def slow(self, *arguments):
        gate.wait(60)
        return put(self, *arguments)

    monkeypatch.setattr(fake_mooncake, "put_parts", slow)
    worker = make(1, pending_mib=1)
    worker._most = 1  # less than one chunk: one waits nevertheless
    save(worker, *CHUNKS)
    assert set(report(worker).unsaved) == set(KEYS[1:])
    gate.set()
    stored(worker, fake_mooncake, 1)


def test_cancel_is_a_fence(make, fake_mooncake, monkeypatch):
    worker = make(1)
    save(worker, *CHUNKS)
    stored(worker, fake_mooncake, 4)
    worker.pages.fill(9)
    asked, gate, get = threading.Event(), threading.Event(), fake_mooncake.get

    def slow(self, key):
        asked.set()
        gate.wait(60)
        return get(self, key)

    monkeypatch.setattr(fake_mooncake, "get", slow)
    step(worker, fetches=(Fetch(transfer=7, chunks=CHUNKS, start=0, end=16, block_ids=BLOCKS),))
    assert asked.wait(60)
    worker.cancel([7, 8])
    before = worker.pages.snapshot()
    gate.set()
    assert fetch(worker, 9, 0, 4, CHUNKS[:1]) == {9: 4}, "and the cancelled one is never told"
    for layer, parts in before.items():
        for old, new in zip(parts, worker.pages.snapshot()[layer], strict=True):
            assert same((old[2:],), (new[2:],))


def test_what_is_saved_is_complete_at_the_end(make, fake_mooncake):
    worker = make(1)
    save(worker, *CHUNKS)
    worker.shutdown()
    assert len(fake_mooncake.objects) == 4 and worker._store._store.closed


def test_wrong_settings_are_named(make):
    with pytest.raises(ConfigError, match=r"kv-mooncake\.pending_mib"):
        make(1, pending_mib=0)
    with pytest.raises(ConfigError, match=r"kv-mooncake\.local_mib must hold the [0-9.]+ MiB of a chunk"):
        make(1, local_mib=1, chunk=1 << 20)
