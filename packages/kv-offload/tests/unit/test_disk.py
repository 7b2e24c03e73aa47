from __future__ import annotations

import logging

import msgspec
import pytest

from kernelet.cache.eviction import lru
from kernelet.contracts.kv import KVWorkerContext
from kernelet.contracts.offer import Settings
from kernelet.errors import ConfigError
from kernelet.testing.kv_connector import PlainPages, plain_layout
from kernelet.testing.kv_connector.requests import IDENTITY
from kernelet_kv_offload.disk import open_disk
from kernelet_kv_offload.options import Options
from kernelet_kv_offload.plugin import kernelet_options

KEYS = [bytes([index]) * 32 for index in range(4)]
CHUNK = bytes(range(64))


def opened(path, identity=IDENTITY, rank=0, **given):
    defaults = {key: option.default for key, option in kernelet_options().schema.items()}
    values = {**defaults, "path": str(path) if path else "", "chunk_tokens": 8, **given}
    context = KVWorkerContext(
        identity=identity,
        role="both",
        engine_id="e",
        pages=PlainPages([plain_layout(rank=rank)]),
        rank=rank,
        eviction=lambda _name, size: lru(size),
    )
    return open_disk(Options.of(Settings(plugin="kv-offload", values=values), context.pages.layouts), context, 64)


def read(disk, key):
    into = bytearray(64)
    return bytes(into) if disk.read(key, memoryview(into)) else None


def test_without_a_path_there_is_none():
    assert opened(None) is None


def test_a_chunk_survives(tmp_path):
    disk = opened(tmp_path)
    written = disk.write(KEYS[0], CHUNK)
    assert (written.failed, written.came, written.gone) == (False, [KEYS[0]], [])
    assert written.num_bytes > len(CHUNK)
    assert disk.write(KEYS[0], CHUNK).num_bytes == 0
    again = opened(tmp_path)
    assert again.keys() == [KEYS[0]]
    into = bytearray(64)
    assert again.read(KEYS[0], memoryview(into))
    assert bytes(into) == CHUNK


def test_others_are_not_seen(tmp_path):
    opened(tmp_path).write(KEYS[0], CHUNK)
    for other in (
        opened(tmp_path, identity=msgspec.structs.replace(IDENTITY, weights="w")),
        opened(tmp_path, rank=1),
        opened(tmp_path, chunk_tokens=4),
    ):
        assert other.keys() == []
        assert not other.read(KEYS[0], memoryview(bytearray(64)))


def test_foreign_files_are_no_chunks(tmp_path):
    disk = opened(tmp_path)
    disk.write(KEYS[0], CHUNK)
    (file,) = tmp_path.glob("*/*.kv")
    (file.parent / file.name.replace("0", "z", 1)).write_bytes(b"")
    (file.parent / "x.kv").write_bytes(b"")
    assert opened(tmp_path).keys() == [KEYS[0]]


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: data[:90] + bytes([data[90] ^ 4]) + data[91:]])
def test_a_damaged_file_is_a_miss_and_said(tmp_path, caplog, damage):
    disk = opened(tmp_path)
    disk.write(KEYS[0], CHUNK)
    (file,) = tmp_path.glob("*/*.kv")
    file.write_bytes(damage(file.read_bytes()))
    with caplog.at_level(logging.WARNING):
        assert not disk.read(KEYS[0], memoryview(bytearray(64)))
    assert "is damaged or cannot be read: it is deleted" in caplog.text
    assert not file.exists()
    assert disk.write(KEYS[0], CHUNK).num_bytes


def test_what_went_away_is_a_miss_and_not_said(tmp_path, caplog):
    disk = opened(tmp_path)
    disk.write(KEYS[0], CHUNK)
    opened(tmp_path).clear()
    assert not disk.read(KEYS[0], memoryview(bytearray(64)))
    assert disk.keys() == []
    assert not caplog.records


def test_it_is_bounded(tmp_path):
    size = opened(tmp_path).write(KEYS[0], CHUNK).num_bytes
    disk = opened(tmp_path, disk_bytes=2 * size + 1)
    disk.write(KEYS[1], CHUNK)
    disk.touch(KEYS[0])
    assert disk.write(KEYS[2], CHUNK).gone == [KEYS[1]]
    assert sorted(disk.keys()) == [KEYS[0], KEYS[2]]
    assert disk.evictions == 1
    with pytest.raises(ConfigError, match=r"kv-offload\.disk_bytes is 9, and the file of one chunk of 8 tokens"):
        opened(tmp_path, disk_bytes=9)


def test_a_disk_that_fails_is_said_once(tmp_path, caplog):
    disk = opened(tmp_path)
    (tmp_path / KEYS[0].hex()[:2]).write_text("a file where a folder must be")
    with caplog.at_level(logging.WARNING):
        assert disk.write(KEYS[0], CHUNK).failed
        assert disk.write(KEYS[0], CHUNK).failed
        assert disk.write(KEYS[1], CHUNK).num_bytes
        assert disk.write(KEYS[0], CHUNK).failed
    assert [record.message.partition(":")[0] for record in caplog.records] == [f"nothing is written to {tmp_path}"] * 2


def test_what_another_engine_did(tmp_path):
    one, other = opened(tmp_path), opened(tmp_path)
    one.write(KEYS[0], CHUNK)
    assert other.refresh() == ([KEYS[0]], [])
    one.clear()
    assert other.refresh() == ([], [KEYS[0]])
