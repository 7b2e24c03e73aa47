from __future__ import annotations

import errno
import os
import time

import pytest
import torch

from kernelet_platform_cpu import packed_file, packing_cache
from kernelet_platform_cpu.packing_cache import SMALLEST, SUFFIX, PackingCache

LIMIT = 64 << 20
COUNT = SMALLEST // 4


def weight(value):
    return {"panels": torch.full((COUNT,), float(value)), "shape": torch.tensor([value, 3])}


@pytest.fixture
def start(tmp_path):
    """Makes the cache of a process, and closes what is still open at the end."""
    made = []

    def start(limit=LIMIT):
        made.append(PackingCache(tmp_path / "packed", limit, 2))
        return made[-1]

    yield start
    for cache in made:
        cache.close()


def keep(cache, *values):
    for value in values:
        cache.save(f"key{value}", weight(value))
    cache.close()


def names(folder):
    return sorted(path.name for path in (folder / "packed").iterdir())


def test_the_next_start_finds_what_was_kept(start):
    keep(start(), 1, 2)
    cache = start()
    for value in (2, 1):
        found = cache.load(f"key{value}")
        assert found.keys() == weight(value).keys()
        assert all(torch.equal(found[name], tensor) for name, tensor in weight(value).items())


def test_what_was_never_kept_is_not_found(start, tmp_path, caplog):
    assert start().load("key1") is None
    assert not (tmp_path / "packed").exists()
    assert not caplog.records


def test_small_weights_are_not_kept(start, tmp_path):
    cache = start()
    cache.save("small", {"panels": torch.ones(COUNT - 1)})
    cache.close()
    assert not (tmp_path / "packed").exists()


def test_a_damaged_file_is_made_again(start, tmp_path, caplog):
    keep(start(), 1)
    path = tmp_path / "packed" / f"key1{SUFFIX}"
    path.write_bytes(path.read_bytes()[:-1])
    cache = start()
    assert cache.load("key1") is None
    assert "will be made again" in caplog.text
    keep(cache, 1)
    assert torch.equal(start().load("key1")["panels"], weight(1)["panels"])


def test_what_was_used_longest_ago_goes(start, tmp_path):
    keep(start(), 1, 2, 3)
    size = (tmp_path / "packed" / f"key1{SUFFIX}").stat().st_size
    for age, value in ((100, 2), (200, 3), (300, 1)):
        os.utime(tmp_path / "packed" / f"key{value}{SUFFIX}", (time.time() - age,) * 2)
    assert start().load("key1") is not None, "it is the youngest now"
    keep(start(3 * size), 4)
    assert names(tmp_path) == [f"key{value}{SUFFIX}" for value in (1, 2, 4)]


def test_a_model_that_is_too_large_does_not_push_out_its_own_weights(start, tmp_path, caplog):
    keep(start(), 1)
    size = (tmp_path / "packed" / f"key1{SUFFIX}").stat().st_size
    cache = start(2 * size)
    assert cache.load("key1") is not None
    keep(cache, 2, 3, 4)
    assert names(tmp_path) == [f"key{value}{SUFFIX}" for value in (1, 2)]
    assert len([record for record in caplog.records if "packed_cache_bytes" in record.message]) == 1


def test_a_full_disk_costs_the_cache_and_one_line(start, tmp_path, monkeypatch, caplog):
    def full(file, key, tensors):
        file.write(b"begun")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(packed_file, "write", full)
    keep(start(), 1, 2, 3)
    assert names(tmp_path) == []
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "No space left" in caplog.text


def test_a_folder_that_cannot_be_made_costs_the_cache(tmp_path, caplog):
    (tmp_path / "file").write_text("no folder")
    cache = PackingCache(tmp_path / "file" / "packed", LIMIT, 1)
    assert cache.load("key1") is None
    keep(cache, 1, 2)
    assert "packed_cache=false" in caplog.text


def test_unfinished_files_are_never_found_and_go_in_time(start, tmp_path):
    folder = tmp_path / "packed"
    folder.mkdir()
    for name, age in ((".old", 7200), (".new", 0)):
        (folder / f"{name}{SUFFIX}").write_bytes(b"x")
        os.utime(folder / f"{name}{SUFFIX}", (time.time() - age,) * 2)
    keep(start(), 1)
    assert names(tmp_path) == [f".new{SUFFIX}", f"key1{SUFFIX}"]


def test_closing_does_not_wait_for_ever(start, tmp_path, monkeypatch):
    monkeypatch.setattr(packing_cache, "PATIENCE", 0.05)
    original, begun = packed_file.write, []

    def slow(file, key, tensors):
        begun.append(key)
        time.sleep(0.3)
        original(file, key, tensors)

    monkeypatch.setattr(packed_file, "write", slow)
    keep(start(), 1, 2, 3)
    assert begun == ["key1"]
    assert names(tmp_path) == [f"key1{SUFFIX}"]


def test_others_may_write_the_same_at_once(start, tmp_path):
    for _ in range(3):
        caches = [start() for _ in range(3)]
        for value in range(6):
            for cache in caches:
                found = cache.load(f"key{value}")
                assert found is None or torch.equal(found["panels"], weight(value)["panels"])
                cache.save(f"key{value}", weight(value))
        for cache in caches:
            cache.close()
    assert names(tmp_path) == [f"key{value}{SUFFIX}" for value in range(6)]
