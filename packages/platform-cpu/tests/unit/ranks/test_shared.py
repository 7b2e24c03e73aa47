from __future__ import annotations

import errno
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from kernelet.errors import ConfigError
from kernelet_platform_cpu.ranks import shared
from kernelet_platform_cpu.ranks.gloo import GlooCommunicator
from kernelet_platform_cpu.ranks.shared import SharedMemoryCommunicator

built = pytest.importorskip("kernelet_platform_cpu._native", exc_type=ImportError)

SHAPES = ((), (0, 3), (5,), (3, 7), (2, 3, 4))


def given(rank, shape, dtype):
    values = torch.randn(shape, generator=torch.Generator().manual_seed(10 * rank + len(shape)))
    return values.to(dtype)


def all_of(communicator, rank):
    """Every collective on tensors that fit in no whole number of turns."""
    found = []
    for dtype in (torch.float32, torch.bfloat16, torch.float64):
        for shape in SHAPES:
            x = given(rank, shape, dtype)
            found += [communicator.all_reduce(x), communicator.broadcast(x, source=1)]
            if shape:
                found += [communicator.all_gather(x, axis) for axis in range(len(shape))]
    found.append(communicator.reduce_scatter(given(rank, (12, 2), torch.float32), axis=0))
    return found


@pytest.mark.parametrize("size", [2, 4])
def test_its_bits_are_those_of_gloo(in_ranks, monkeypatch, size):
    monkeypatch.setattr(shared, "native", lambda: built)
    monkeypatch.setattr(shared, "SLOT", 64)
    mine, gloos = (in_ranks(kind, size, all_of) for kind in (SharedMemoryCommunicator, GlooCommunicator))
    for rank in range(size):
        assert len(mine[rank]) > 40
        for one, other in zip(mine[rank], gloos[rank], strict=True):
            assert one.dtype is other.dtype
            assert torch.equal(one, other)


def test_without_the_extension_all_goes_over_gloo(in_ranks, monkeypatch):
    monkeypatch.setattr(shared, "native", lambda: None)
    monkeypatch.setattr(shared, "_make", lambda size: pytest.fail("memory was made"))

    def run(communicator, rank):
        x = torch.tensor([rank + 1.0])
        return [
            communicator.all_reduce(x).item(),
            communicator.all_gather(x).tolist(),
            communicator.broadcast(x).item(),
        ]

    assert in_ranks(SharedMemoryCommunicator, 2, run) == [[3.0, [1.0, 2.0], 1.0]] * 2


def test_the_file_has_no_name_once_all_have_it(in_ranks, monkeypatch, tmp_path):
    monkeypatch.setattr(shared, "native", lambda: built)
    monkeypatch.setattr(shared, "MEMORY", tmp_path)
    names = []
    make = shared._make
    monkeypatch.setattr(shared, "_make", lambda size: names.append(make(size)) or names[-1])
    assert (
        in_ranks(SharedMemoryCommunicator, 2, lambda group, rank: group.all_reduce(torch.ones(1)).item()) == [2.0] * 2
    )
    assert names[0].startswith(str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_no_room_is_one_clear_error(monkeypatch, tmp_path):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(shared, "MEMORY", tmp_path)
    monkeypatch.setattr(shared.os, "posix_fallocate", full)
    with pytest.raises(ConfigError, match=r"has no room for 4 MiB .*No space left.*--communicator gloo"):
        shared._make(4 << 20)
    assert list(tmp_path.iterdir()) == []


def test_where_there_is_no_such_folder_another_is_taken(monkeypatch, tmp_path):
    monkeypatch.setattr(shared, "MEMORY", tmp_path / "nothing")
    monkeypatch.setattr(shared.tempfile, "gettempdir", lambda: str(tmp_path))
    path = shared._make(100)
    assert path.startswith(str(tmp_path))
    (content,) = (file.read_bytes() for file in tmp_path.iterdir())
    assert content == bytes(100)


@pytest.mark.parametrize("size", [2, 5])
def test_nobody_leaves_a_meeting_before_all_have_come(size):
    memory = torch.zeros(built.meeting_bytes(size) + 64, dtype=torch.uint8)
    address = memory.data_ptr() + -memory.data_ptr() % 64
    counts, turns = [0] * size, 300
    wrong = threading.Event()

    def rank(number):
        meeting = built.Meeting(address, number, size)
        for turn in range(1, turns + 1):
            counts[number] = turn
            meeting.meet()
            if min(counts) < turn or max(counts) > turn + 1:
                wrong.set()

    with ThreadPoolExecutor(size) as threads:
        list(threads.map(rank, range(size)))
    assert counts == [turns] * size
    assert not wrong.is_set()


def test_who_waits_sleeps_until_the_last_one_comes():
    memory = torch.zeros(built.meeting_bytes(2) + 64, dtype=torch.uint8)
    address = memory.data_ptr() + -memory.data_ptr() % 64
    first, second = (built.Meeting(address, rank, 2) for rank in range(2))
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(first.meet)
        sleepers = memory[address - memory.data_ptr() + 64 + 4 :].view(torch.uint8)
        while not sleepers[0]:  # of the second one's place
            threading.Event().wait(0.01)
        assert not waiting.done()
        second.meet()
        waiting.result(60)
