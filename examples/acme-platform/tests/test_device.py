from __future__ import annotations

import mmap

import torch
from acme_platform.device import AcmeDevice, resident_bytes

from kernelet.contracts.offer import Settings


def fresh(mebibytes):
    """Pages that nobody had: what the C library kept of freed memory would not count as taken."""
    return torch.frombuffer(mmap.mmap(-1, mebibytes << 20), dtype=torch.uint8).fill_(1)


def test_its_memory_is_its_own_and_what_is_taken_is_gone():
    device = AcmeDevice(Settings(plugin="p", values={"memory_mib": 512, "threads": 1}), local_rank=3)
    device.init()
    before = device.memory()
    assert before.total == 512 << 20
    taken = fresh(100)
    assert 90 << 20 < before.free - device.memory().free < 120 << 20
    assert len(taken) > 0
    assert device.get_device_name() == "acme:3 (512 MiB, 1 threads)"


def test_it_has_no_more_than_it_has():
    device = AcmeDevice(Settings(plugin="p", values={"memory_mib": 1, "threads": 1}), local_rank=0)
    device.init()
    taken = fresh(64)
    assert device.memory().free == 0
    assert len(taken) > 0


def test_what_the_process_holds(tmp_path):
    (tmp_path / "statm").write_text("900 25 7 1 0 3 0\n")
    assert resident_bytes(tmp_path / "statm") == 25 * resident_page()


def resident_page():
    import resource

    return resource.getpagesize()
