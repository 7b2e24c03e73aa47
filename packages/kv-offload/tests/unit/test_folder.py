from __future__ import annotations

import fcntl
import logging
import os
import random
import shutil
import threading
import time

import pytest

from kernelet.cache.eviction import lru
from kernelet.errors import ConfigError
from kernelet_kv_offload import folder as module
from kernelet_kv_offload.folder import Folder

SIZE = 100


def opened(path, count=4, max_bytes=None):
    return Folder(path, count * SIZE if max_bytes is None else max_bytes, count, lru(count + 1), "x.path")


def put(folder, name, size=SIZE):
    with folder.room(name, size) as room:
        if room.file is not None:
            room.file.write_bytes(b"x" * size)
    return room


def on_disk(path):
    return {file.name.removesuffix(".kv") for file in path.glob("*/*.kv")}


def age(folder, name, seconds):
    then = time.time_ns() - seconds * 10**9
    os.utime(folder.file(name), ns=(then, then))


def test_what_is_written_is_there(tmp_path):
    folder = opened(tmp_path)
    assert put(folder, "aa-0").file is not None
    assert folder.holds("aa-0")
    assert folder.num_bytes == SIZE
    assert on_disk(tmp_path) == {"aa-0"}
    assert put(folder, "aa-0").file is None


def test_a_write_that_fails_leaves_nothing(tmp_path):
    folder = opened(tmp_path)
    with pytest.raises(IsADirectoryError), folder.room("aa-0", SIZE) as room:
        room.file.write_bytes(b"x") and tmp_path.write_bytes(b"")
    assert not folder.holds("aa-0")
    assert [file for file in tmp_path.rglob("*") if file.is_file()] == [tmp_path / ".lock"]


def test_the_oldest_go_when_it_is_full(tmp_path):
    folder = opened(tmp_path)
    for name in ("aa-0", "bb-0", "cc-0", "dd-0"):
        put(folder, name)
    folder.touch("aa-0")
    assert put(folder, "ee-0", 2 * SIZE).gone == {"bb-0", "cc-0"}
    assert on_disk(tmp_path) == {"aa-0", "dd-0", "ee-0"}
    assert folder.evictions == 2
    assert folder.num_bytes == 4 * SIZE


def test_files_of_all_ranks_go_together(tmp_path):
    folder = opened(tmp_path)
    for name in ("aa-0", "bb-0", "aa-1", "bb-1"):
        put(folder, name)
    assert put(folder, "cc-0").gone == {"aa-0", "aa-1"}


def test_too_many_small_files(tmp_path):
    folder = opened(tmp_path, count=2, max_bytes=100 * SIZE)
    put(folder, "aa-0", 1)
    put(folder, "bb-0", 1)
    assert put(folder, "cc-0", 1).gone == {"aa-0"}


def test_a_restart_knows_what_was_used_last(tmp_path):
    folder = opened(tmp_path)
    for seconds, name in enumerate(("aa-0", "bb-0", "cc-0"), 10):
        put(folder, name)
        age(folder, name, seconds)
    folder.touch("cc-0")
    again = opened(tmp_path, count=3)
    assert set(again.names()) == {"aa-0", "bb-0", "cc-0"}
    assert put(again, "dd-0").gone == {"bb-0"}
    assert put(again, "ee-0").gone == {"aa-0"}


def test_a_smaller_bound_at_the_start(tmp_path):
    folder = opened(tmp_path)
    for name in ("aa-0", "bb-0", "cc-0", "dd-0"):
        put(folder, name)
    assert len(opened(tmp_path, count=2).names()) == 2
    assert len(on_disk(tmp_path)) == 2


def test_what_a_killed_engine_left(tmp_path):
    folder = opened(tmp_path)
    put(folder, "aa-0")
    (tmp_path / "aa" / "ab-0.part").write_bytes(b"half")
    (tmp_path / "aa" / "notes.txt").write_text("not ours")
    opened(tmp_path)
    assert sorted(file.name for file in (tmp_path / "aa").iterdir()) == ["aa-0.kv", "notes.txt"]


def test_two_see_each_other(tmp_path):
    one, other = opened(tmp_path), opened(tmp_path)
    put(one, "aa-0")
    put(one, "ab-0")
    assert other.refresh() == ({"aa-0", "ab-0"}, set())
    one.remove("aa-0")
    assert other.refresh() == (set(), {"aa-0"})
    assert put(other, "ab-0").file is None
    assert other.num_bytes == one.num_bytes == SIZE


def test_a_folder_that_went_away(tmp_path):
    one, other = opened(tmp_path), opened(tmp_path)
    put(one, "aa-0")
    other.refresh()
    one.remove("aa-0")
    (tmp_path / "aa").rmdir()
    assert other.refresh() == (set(), {"aa-0"})
    put(other, "aa-0")
    assert on_disk(tmp_path) == {"aa-0"}


def test_the_whole_folder_went_away_and_two_go_on(tmp_path):
    """They lock the same file again, and find what the other one writes."""
    path = tmp_path / "kv"
    one, two = opened(path), opened(path)
    put(one, "aa-0")
    shutil.rmtree(path)
    assert put(one, "bb-0").gone == {"aa-0"}
    with one.room("cc-0", SIZE) as room:
        room.file.write_bytes(b"x")
        with pytest.raises(BlockingIOError):
            fcntl.flock(os.open(path / ".lock", os.O_RDWR), fcntl.LOCK_EX | fcntl.LOCK_NB)
        assert not two._lock_now()
    assert put(two, "dd-0").came == {"bb-0", "cc-0"}
    shutil.rmtree(path)
    assert one.refresh() == (set(), {"bb-0", "cc-0"})
    assert on_disk(path) == set()


def test_a_folder_that_goes_while_a_file_is_written(tmp_path):
    path = tmp_path / "kv"
    folder = opened(path)
    with pytest.raises(FileNotFoundError), folder.room("aa-0", SIZE) as room:
        room.file.write_bytes(b"x") and shutil.rmtree(path)
    assert put(folder, "aa-0").file is not None
    assert on_disk(path) == {"aa-0"}


def test_what_another_uses_stays(tmp_path):
    one, other = opened(tmp_path), opened(tmp_path)
    for seconds, name in ((9, "aa-0"), (8, "bb-0"), (7, "cc-0"), (6, "dd-0")):
        put(one, name)
        age(one, name, seconds)
    other.refresh()
    one.touch("aa-0")
    assert put(other, "ee-0").gone == {"bb-0"}


def test_everything_is_used_elsewhere_and_still_something_goes(tmp_path):
    one, other = opened(tmp_path), opened(tmp_path)
    for name in ("aa-0", "bb-0", "cc-0", "dd-0"):
        put(one, name)
        age(one, name, 9)
    other.refresh()
    for name in one.names():
        one.touch(name)
    assert len(put(other, "ee-0").gone) == 1


def test_many_writers_keep_the_bound(tmp_path):
    """Threads with folders of their own write and evict what they like; whoever writes sees that there is room."""
    names = [f"{index:02x}-{rank}" for index in range(12) for rank in range(2)]
    failures, written = [], []

    def write(seed):
        folder, chance = opened(tmp_path), random.Random(seed)
        try:
            for _ in range(40):
                name = chance.choice(names)
                with folder.room(name, SIZE) as room:
                    if room.file is not None:
                        assert sum(file.stat().st_size for file in tmp_path.glob("*/*.kv")) <= 3 * SIZE
                        room.file.write_bytes(b"x" * SIZE)
                        written.append(name)
                folder.touch(chance.choice(names))
        except BaseException as error:  # noqa: BLE001 - shown below
            failures.append(error)

    threads = [threading.Thread(target=write, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert not failures
    assert len(written) > 30
    last = opened(tmp_path)
    assert last.num_bytes == sum(file.stat().st_size for file in tmp_path.glob("*/*.kv")) <= 4 * SIZE


def test_who_does_not_get_the_lock_does_not_write(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "LOCK_SECONDS", 0.02)
    one, other = opened(tmp_path), opened(tmp_path)
    with one.room("aa-0", SIZE) as room:
        with pytest.raises(TimeoutError, match="another engine holds"), other.room("bb-0", SIZE):
            pass
        room.file.write_bytes(b"x" * SIZE)
    assert put(other, "bb-0").file is not None


def test_a_path_that_is_no_folder(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"x\.path=.*file: .*it must be a folder to write to"):
        opened(tmp_path / "file")


def test_nothing_is_logged(tmp_path, caplog):
    with caplog.at_level(logging.DEBUG):
        put(opened(tmp_path), "aa-0")
    assert not caplog.records
