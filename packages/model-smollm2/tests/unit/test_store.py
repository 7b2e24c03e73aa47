from __future__ import annotations

import multiprocessing
import os
import time

import pytest

from kernelet_model_smollm2.store import SEAL, Store


def fill(folder):
    (folder / "weights").write_bytes(b"w" * 1000)
    (folder / "config").write_text("{}")


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "models" / "tiny", "source 1")


@pytest.fixture
def made(store):
    store.ensure(fill, pytest.fail)
    return store


def test_makes_the_folder_once(store):
    calls = []

    def make(folder):
        calls.append(folder)
        fill(folder)

    assert store.problem() == "it is not there"
    assert store.ensure(make, pytest.fail) == store.ensure(make, pytest.fail) == store.folder
    assert len(calls) == 1
    assert calls[0].parent.parent == store.folder.parent, "made beside it, so that the rename is atomic"
    assert {path.name for path in store.folder.iterdir()} == {"weights", "config", SEAL}
    assert not list(store.folder.parent.glob(".tiny-*")), "nothing is left over"


def damage_missing(folder):
    (folder / "config").unlink()


def damage_short(folder):
    (folder / "weights").write_bytes(b"w" * 999)


def damage_changed(folder):
    (folder / "weights").write_bytes(b"w" * 999 + b"x")


def damage_no_seal(folder):
    (folder / SEAL).unlink()


def damage_bad_seal(folder):
    (folder / SEAL).write_text("{")


def damage_empty_seal(folder):
    (folder / SEAL).write_text("{}")


@pytest.mark.parametrize(
    "damage, reason",
    [
        (damage_missing, "config is missing"),
        (damage_short, "weights has 999 bytes instead of 1000"),
        (damage_changed, "weights was changed"),
        (damage_no_seal, f"{SEAL} is missing"),
        (damage_bad_seal, f"{SEAL} is damaged"),
        (damage_empty_seal, f"{SEAL} is damaged"),
    ],
)
def test_damage_is_found_told_and_repaired(made, damage, reason):
    damage(made.folder)
    assert made.problem().startswith(reason)
    told = []
    made.ensure(fill, told.append)
    assert len(told) == 1 and told[0].startswith(reason)
    assert made.problem() is None
    assert (made.folder / "weights").read_bytes() == b"w" * 1000


def test_another_source_is_another_folder(made):
    newer = Store(made.folder, "source 2")
    assert newer.problem() == "it was made of source 1"
    newer.ensure(fill, lambda _: None)
    assert newer.problem() is None


def test_a_copy_with_new_times_is_whole(made):
    os.utime(made.folder / "weights", (1, 1))
    assert made.problem() is None


def test_a_failure_stores_nothing(store):
    def fail(folder):
        fill(folder)
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        store.ensure(fail, pytest.fail)
    assert not store.folder.exists()
    assert not list(store.folder.parent.glob(".tiny-*"))
    store.ensure(fill, pytest.fail)
    assert store.problem() is None


def test_a_failed_repair_keeps_what_was_there(made):
    damage_changed(made.folder)

    def fail(folder):
        raise OSError("no network")

    with pytest.raises(OSError, match="no network"):
        made.ensure(fail, lambda _: None)
    assert (made.folder / "config").exists()


def test_whole_folder_needs_no_write_access(made, monkeypatch):
    monkeypatch.setattr("filelock.FileLock", lambda _: pytest.fail("no lock is needed"))
    assert made.ensure(pytest.fail, pytest.fail) == made.folder


def slow_make(folder):
    (folder.parent.parent / f"made-by-{os.getpid()}").touch()
    time.sleep(0.3)
    fill(folder)


def ensure_in_child(path, barrier):
    barrier.wait(20)
    Store(path, "source 1").ensure(slow_make, lambda _: None)


def test_two_processes_make_it_once(store):
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(2)
    children = [context.Process(target=ensure_in_child, args=(store.folder, barrier)) for _ in range(2)]
    for child in children:
        child.start()
    for child in children:
        child.join(30)
    assert [child.exitcode for child in children] == [0, 0]
    assert store.problem() is None
    assert len(list(store.folder.parent.glob("made-by-*"))) == 1
