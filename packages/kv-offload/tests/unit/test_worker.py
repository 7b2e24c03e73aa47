from __future__ import annotations

import logging
import threading

import pytest

from kernelet.contracts.kv import KVConnectorOffer
from kernelet.testing.kv_connector import plain_layout
from kernelet.testing.kv_connector.rig import Rig
from kernelet.testing.offered import find_offer
from kernelet_kv_offload.disk import Disk
from kernelet_kv_offload.options import chunk_bytes
from kernelet_kv_offload.worker import OffloadWorker

CHUNK = 8
TOKENS = list(range(5, 5 + 3 * CHUNK))
ONE = chunk_bytes([plain_layout()], CHUNK)


@pytest.fixture
def engine():
    made = []

    def make(slots=16, ranks=1, windows=(None,), **options):
        offered = find_offer(
            "kernelet_kv_offload.plugin",
            KVConnectorOffer,
            chunk_tokens=CHUNK,
            memory_bytes=slots * ranks * ONE * len(windows),
            **options,
        )
        layouts = [
            [
                plain_layout(group=group, window=window, rank=rank, world_size=ranks, num_blocks=128)
                for group, window in enumerate(windows)
            ]
            for rank in range(ranks)
        ]
        made.append(Rig(offered, layouts))
        return made[-1]

    yield make
    for rig in made:
        rig.close()


def computed(rig, tokens=TOKENS):
    held = rig.add(tokens)
    rig.ask(held)
    rig.prefill(held)
    rig.finish(held)


def threads_are_done(rig):
    for worker in rig.workers:
        for lane in (worker._loader, worker._writer):
            done = threading.Event()
            lane.submit(done.set)
            assert done.wait(60)
    rig.step()


def loaded(rig, tokens=TOKENS):
    """Tokens that a request has without computing them; what came is held against the truth."""
    held = rig.add([*tokens, 1])
    ticket = rig.ask(held)
    count = 0 if ticket is None else rig.load(held, ticket)
    rig.prefill(held)
    rig.finish(held)
    return count


def stats(rig):
    found = {}
    for worker in rig.workers:
        for name, value in worker.get_kv_connector_stats().items():
            found[name] = found.get(name, 0) + value
    return found


def files(path):
    return sorted(path.glob("*/*.kv"))


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("windows", [(None,), (None, 10), (9,)])
def test_memory_then_disk(engine, tmp_path, ranks, windows):
    rig = engine(ranks=ranks, windows=windows, path=str(tmp_path))
    computed(rig)
    assert loaded(rig) == len(TOKENS)
    rig.close()
    assert len(files(tmp_path)) == 3 * ranks
    again = engine(ranks=ranks, windows=windows, path=str(tmp_path))
    assert loaded(again) == len(TOKENS)
    assert stats(again)["read_bytes"] == 3 * ONE * ranks * len(windows)
    for file in files(tmp_path):
        file.unlink()
    assert loaded(again) == len(TOKENS)  # it is in memory now


def test_a_damaged_file_ends_what_is_valid(engine, tmp_path, caplog):
    rig = engine(path=str(tmp_path))
    computed(rig)
    rig.close()
    key = rig.add(TOKENS).request.key(2 * CHUNK).hex()
    (second,) = (file for file in files(tmp_path) if file.name.startswith(key))
    data = bytearray(second.read_bytes())
    data[-100] ^= 1
    second.write_bytes(data)
    again = engine(path=str(tmp_path))
    with caplog.at_level(logging.WARNING):
        assert loaded(again) == CHUNK
    assert f"{second} is damaged" in caplog.text
    again.step()
    threads_are_done(again)
    assert loaded(again) == len(TOKENS)
    again.close()
    assert second.exists()  # it was computed anew, and saved


def test_a_full_queue_skips_writes_and_not_the_step(engine, tmp_path, monkeypatch):
    rig = engine(path=str(tmp_path), write_queue=1)
    gate = threading.Event()
    monkeypatch.setattr(Disk, "write", waits(gate, Disk.write))
    computed(rig)
    assert loaded(rig) == len(TOKENS)
    gate.set()
    threads_are_done(rig)
    assert stats(rig)["skipped_writes"] == 2
    assert len(files(tmp_path)) == 1


def waits(gate, write):
    def later(*arguments):
        assert gate.wait(60)
        return write(*arguments)

    return later


def test_a_stop_waits_for_what_is_to_be_written(engine, tmp_path, monkeypatch):
    rig = engine(path=str(tmp_path))
    gate = threading.Event()
    monkeypatch.setattr(Disk, "write", waits(gate, Disk.write))
    computed(rig)
    assert files(tmp_path) == []
    threading.Timer(0.1, gate.set).start()
    rig.close()
    assert len(files(tmp_path)) == 3


def test_a_slot_is_not_reused_before_it_is_written(engine, tmp_path, monkeypatch):
    rig = engine(slots=3, path=str(tmp_path))
    gate = threading.Event()
    monkeypatch.setattr(Disk, "write", waits(gate, Disk.write))
    computed(rig)
    computed(rig, [token + 100 for token in TOKENS])  # finds no slot
    gate.set()
    rig.close()
    again = engine(path=str(tmp_path))
    assert loaded(again) == len(TOKENS)
    assert loaded(again, [token + 100 for token in TOKENS]) == 0


def test_a_disk_that_fails_costs_the_disk_only(engine, tmp_path, caplog):
    rig = engine(path=str(tmp_path))
    for index in range(256):
        (tmp_path / f"{index:02x}").write_text("no folder")
    computed(rig)
    threads_are_done(rig)
    assert loaded(rig) == len(TOKENS)
    assert stats(rig)["skipped_writes"] == 3
    assert f"nothing is written to {tmp_path}" in caplog.text


def test_two_engines_share_a_folder(engine, tmp_path, monkeypatch):
    monkeypatch.setattr(OffloadWorker, "refresh_seconds", 0.0)
    one, other = engine(path=str(tmp_path)), engine(path=str(tmp_path))
    computed(one)
    threads_are_done(one)
    other.step()
    threads_are_done(other)
    assert loaded(other) == len(TOKENS)
    for file in files(tmp_path):
        file.unlink()
    other.step()
    threads_are_done(other)
    assert loaded(other) == len(TOKENS)  # from memory


def test_two_engines_that_both_evict(engine, tmp_path):
    size = 5 * (ONE + 2000)
    rigs = [engine(slots=2, path=str(tmp_path), disk_bytes=size) for _ in range(2)]
    prompts = [[seed, *TOKENS] for seed in range(6)]
    for turn in range(3):
        for prompt in prompts:
            rig = rigs[(turn + prompt[0]) % 2]
            loaded(rig, prompt)
    for rig in rigs:
        threads_are_done(rig)
    assert 0 < sum(file.stat().st_size for file in files(tmp_path)) <= size
    assert sum(stats(rig).get("disk_evictions", 0) for rig in rigs) > 0


def test_reset_deletes_the_files_of_this_engine(engine, tmp_path):
    rig = engine(path=str(tmp_path))
    computed(rig)
    rig.scheduler.reset_cache()
    rig.step()
    threads_are_done(rig)
    assert files(tmp_path) == []
    assert loaded(rig) == 0
    assert loaded(rig) == len(TOKENS)


def test_what_fails_on_a_thread_is_raised_in_a_step(engine, tmp_path, monkeypatch):
    rig = engine(path=str(tmp_path))
    computed(rig)
    threads_are_done(rig)
    rig.workers[0]._writer.submit(lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        threads_are_done(rig)


def test_stats(engine, tmp_path):
    rig = engine(path=str(tmp_path))
    computed(rig)
    threads_are_done(rig)
    found = stats(rig)
    assert found["saved_bytes"] == 3 * ONE
    assert found["written_bytes"] == sum(file.stat().st_size for file in files(tmp_path))
    assert loaded(rig) == len(TOKENS)
    assert stats(rig) == {}
