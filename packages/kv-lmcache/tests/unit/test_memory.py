from __future__ import annotations

import mmap
import os
import time

import pytest
import torch

from kernelet.testing.kv_connector import plain_layout
from kernelet_kv_lmcache.memory import Slots, token_bytes
from kernelet_kv_lmcache.wire import Setup

CHUNK = 8


@pytest.fixture(params=[("float32", ""), ("float8_e4m3fn", "float32")], ids=str)
def layout(request):
    dtype, scales = request.param
    return plain_layout(dtype=dtype, scales=scales)


def made(layout, megabytes):
    setup = Setup("", "", 0, 1, CHUNK, token_bytes(layout), megabytes << 20, 1.0)
    memory = os.memfd_create("test")
    os.ftruncate(memory, 1 << 20)
    return Slots(layout, setup, CHUNK, memory), memory


def test_bytes_of_a_token(layout):
    wide = layout.num_kv_heads * sum(part.width * getattr(torch, part.dtype).itemsize for part in layout.parts)
    assert token_bytes(layout) == len(layout.layers) * wide


def test_a_slot_holds_all_parts_of_a_chunk(layout):
    """Every byte of a slot belongs to one part, and to no other slot."""
    slots, memory = made(layout, 0)
    parts = [part for slot in (0, 1) for layer in slots.parts(slot).values() for part in layer]
    for value, part in enumerate(parts, 1):
        part.view(torch.uint8).fill_(value)
    size = CHUNK * token_bytes(layout)
    seen = torch.frombuffer(mmap.mmap(memory, 2 * size), dtype=torch.uint8)
    wanted = [torch.full((part.nbytes,), value) for value, part in enumerate(parts, 1)]
    assert torch.equal(seen, torch.cat(wanted).to(torch.uint8))
    assert all(part.shape[:2] == (CHUNK, layout.num_kv_heads) for part in parts)


def test_each_kind_has_slots_of_its_own(layout):
    slots, _ = made(layout, 0)
    (load,) = slots.take("load", 5, 0)
    (save,) = slots.take("save", 5, 0)
    assert {load, save} == {0, 1}
    assert slots.take("save", 1, time.monotonic() + 0.01) == []
    slots.give("save", [save])
    assert slots.take("save", 1, 0) == [save]
