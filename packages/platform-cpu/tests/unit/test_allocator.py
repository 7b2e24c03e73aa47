from __future__ import annotations

import subprocess
import sys

from kernelet_platform_cpu import allocator

FAULTS = """
import resource, sys, torch
from kernelet_platform_cpu.allocator import keep_freed_memory
torch.set_num_threads(1)
if sys.argv[1] == "kept":
    assert keep_freed_memory()
sizes = [3 << 20, 5 << 20, 1 << 20, 9 << 20]
for _ in range(3):
    [torch.zeros(size, dtype=torch.uint8).add_(1) for size in sizes]
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    kept = [torch.empty(size, dtype=torch.uint8).fill_(1) for size in sizes]
    del kept
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(mode):
    done = subprocess.run([sys.executable, "-c", FAULTS, mode], capture_output=True, text=True, check=True)
    return int(done.stdout)


def test_tensors_come_from_kept_memory():
    """18 MiB twenty times are 92160 pages; kept memory faults for hardly any of them."""
    assert faults("kept") < 9216


def test_other_libraries_are_left_alone(monkeypatch):
    monkeypatch.setattr(allocator.ctypes, "CDLL", lambda name: object())
    assert not allocator.keep_freed_memory()
