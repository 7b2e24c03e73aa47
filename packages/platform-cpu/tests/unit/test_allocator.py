from __future__ import annotations

import mmap
import subprocess
import sys

import pytest
import torch

from kernelet_platform_cpu import allocator
from kernelet_platform_cpu.allocator import zeroed, zeroed_weight

FAULTS = """
import resource, sys, threading, torch
from kernelet_platform_cpu.allocator import keep_freed_memory
torch.set_num_threads(1)
if sys.argv[1] == "kept":
    assert keep_freed_memory()
sizes = [3 << 20, 5 << 20, 1 << 20, 9 << 20]
def steps():
    for _ in range(3):
        [torch.zeros(size, dtype=torch.uint8).add_(1) for size in sizes]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        kept = [torch.empty(size, dtype=torch.uint8).fill_(1) for size in sizes]
        del kept
    print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
if sys.argv[2] == "thread":
    thread = threading.Thread(target=steps)
    thread.start()
    thread.join()
else:
    steps()
"""


@pytest.mark.parametrize("where", ["main", "thread"])
def test_tensors_come_from_kept_memory(where):
    """18 MiB twenty times are 92160 pages; kept memory faults for hardly any of them."""
    command = [sys.executable, "-c", FAULTS, "kept", where]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 9216


ZEROED = """
import resource, torch
from kernelet_platform_cpu.allocator import zeroed
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
tensor = zeroed((1 << 10, 1 << 20), torch.bfloat16)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
assert not tensor[::97, ::65537].any()
"""


def test_a_tensor_of_zeros_takes_its_pages_when_they_are_written():
    done = subprocess.run([sys.executable, "-c", ZEROED], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 64 << 10, "KiB of 2 GiB"


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_zeros_can_be_written(dtype):
    tensor = zeroed((3, 2, 5), dtype)
    assert tensor.shape == (3, 2, 5)
    assert tensor.dtype == dtype
    assert not tensor.any()
    tensor[1] = 2
    assert tensor.sum().item() == 20
    assert zeroed((3, 0), dtype).shape == (3, 0)


FREED = """
from pathlib import Path
from kernelet_platform_cpu.allocator import keep_freed_memory, return_free_memory
def resident():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))
keep_freed_memory()
pieces = [bytearray(50_000) for _ in range(2_000)]
kept = pieces[::100]
most = resident()
del pieces
before = resident()
return_free_memory()
print(most - before, before - resident())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="what is resident is read from /proc")
def test_free_memory_between_pieces_is_given_back():
    done = subprocess.run([sys.executable, "-c", FREED], capture_output=True, text=True, check=True)
    by_itself, given = map(int, done.stdout.split())
    assert by_itself < 10_000, "KiB of 100 MB"
    assert given > 80_000


def test_other_libraries_are_left_alone(monkeypatch):
    monkeypatch.setattr(allocator.ctypes, "CDLL", lambda name: object())
    assert not allocator.keep_freed_memory()
    allocator.return_free_memory()


def test_weights_lie_behind_each_other_from_a_large_page_on(monkeypatch):
    monkeypatch.setattr(allocator, "_SLABS", allocator._Slabs())
    first, second = (zeroed_weight((3, 1000), torch.bfloat16) for _ in range(2))
    assert first.data_ptr() % allocator.LARGE_PAGE == 0
    assert second.data_ptr() == first.data_ptr() + 2 * mmap.PAGESIZE
    first.fill_(1)
    assert not second.any()
    assert second.shape == (3, 1000)


def test_a_full_slab_is_followed_by_another(monkeypatch):
    monkeypatch.setattr(allocator, "_SLABS", allocator._Slabs())
    size = allocator.SLAB // 4
    weights = [zeroed_weight((size,), torch.uint8) for _ in range(6)]
    for number, weight in enumerate(weights):
        weight[:: mmap.PAGESIZE] = number
        weight[-1] = number
    for number, weight in enumerate(weights):
        assert weight[:: mmap.PAGESIZE].eq(number).all()
        assert weight[-1] == number


def test_a_slab_goes_with_the_last_weight_in_it(monkeypatch):
    slabs = allocator._Slabs()
    monkeypatch.setattr(allocator, "_SLABS", slabs)
    first, second = (zeroed_weight((5,), torch.float32) for _ in range(2))
    part = second[1:3]
    del first, second
    assert slabs._slab() is not None
    del part
    assert slabs._slab() is None
    assert zeroed_weight((5,), torch.float32).sum() == 0


@pytest.mark.parametrize("count", [0, allocator.SLAB + 1])
def test_a_weight_that_no_slab_is_for_has_memory_of_its_own(monkeypatch, count):
    slabs = allocator._Slabs()
    monkeypatch.setattr(allocator, "_SLABS", slabs)
    assert zeroed_weight((count,), torch.uint8).shape == (count,)
    assert slabs._slab is None
