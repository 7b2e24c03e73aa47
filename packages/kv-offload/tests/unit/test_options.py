from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
import torch

from kernelet.config.host_memory import MemoryLimit
from kernelet.contracts.offer import Settings
from kernelet.errors import ConfigError, SelectionError
from kernelet.testing.kv_connector import plain_layout
from kernelet_kv_offload.options import Options, chunk_bytes, describe, item_bytes
from kernelet_kv_offload.plugin import kernelet_options

LAYOUT = plain_layout(num_layers=2, num_kv_heads=2, head_size=8)
TOKEN = 2 * 2 * 2 * 8 * 4
"""Bytes: layers, parts, heads, head size, float32."""


def options(layouts=(LAYOUT,), **given):
    defaults = {key: option.default for key, option in kernelet_options().schema.items()}
    return Options.of(Settings(plugin="kv-offload", values={**defaults, **given}), layouts)


def plenty():
    return MemoryLimit(1 << 40, "test")


def test_defaults():
    found = options()
    assert (found.chunk_tokens, found.path, found.memory_bytes) == (64, None, 1 << 30)
    assert found.num_slots([[LAYOUT]], plenty) == (1 << 30) // (64 * TOKEN)


def test_a_chunk_is_no_longer_than_a_window():
    windowed = msgspec.structs.replace(LAYOUT, window=24)
    assert options((LAYOUT, windowed)).chunk_tokens == 24
    assert options((LAYOUT, windowed), chunk_tokens=8).chunk_tokens == 8


def test_ranks_share_the_memory():
    found = options(chunk_tokens=1, memory_bytes=10 * TOKEN)
    assert found.num_slots([[LAYOUT], [LAYOUT]], plenty) == 5


@pytest.mark.parametrize("key", ["memory_bytes", "disk_bytes", "chunk_tokens", "write_queue"])
def test_numbers_are_positive(key):
    with pytest.raises(ConfigError, match=rf"kv-offload\.{key} is 0; it must be 1 at least"):
        options(**{key: 0})


def test_sizes_hold_a_chunk():
    with pytest.raises(ConfigError, match=rf"memory_bytes is 99, .* takes {64 * TOKEN}: give --set kv-offload"):
        options(memory_bytes=99).num_slots([[LAYOUT]], plenty)
    with pytest.raises(ConfigError, match=r"disk_bytes is 99, .* takes 100: give --set kv-offload\.disk_bytes=1600"):
        options(disk_bytes=99).num_files(100)
    assert options(disk_bytes=350).num_files(100) == 3


def test_memory_that_is_not_there():
    with pytest.raises(ConfigError, match=r"only 4096 are left \(test\): give less"):
        options().num_slots([[LAYOUT]], lambda: MemoryLimit(4096, "test"))


def test_a_policy_that_nobody_offers():
    def nobody(name, _size):
        raise SelectionError(f"no {name}")

    with pytest.raises(ConfigError, match=r"kv-offload\.eviction_policy: no newest"):
        options(eviction_policy="newest").policy(nobody, 3)
    assert options(eviction_policy="mine").policy(lambda name, size: (name, size), 3) == ("mine", 4)


def test_a_path_is_absolute():
    assert options(path="~/kv").path == Path("~/kv").expanduser()
    assert options(path="kv").path == Path.cwd() / "kv"


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "float8_e4m3fn", "float8_e5m2", "int8", "uint8"])
def test_bytes_of_dtypes(dtype):
    assert item_bytes(dtype) == getattr(torch, dtype).itemsize


def test_a_dtype_of_less_than_a_byte():
    with pytest.raises(ValueError, match="'float4_e2m1fn_x2' are not known"):
        item_bytes("float4_e2m1fn_x2")


def test_parts_are_aligned():
    layout = plain_layout(num_layers=1, num_kv_heads=1, head_size=3, dtype="int8")
    assert chunk_bytes([layout], 1) == 2 * 16


def test_what_a_description_depends_on():
    base = describe([LAYOUT], 64)
    for field, value in {"block_size": 16, "num_blocks": 7, "native": "x", "rank": 1, "window": 9}.items():
        assert describe([msgspec.structs.replace(LAYOUT, **{field: value})], 64) == base
    for field, value in {"layers": ("a", "b"), "num_kv_heads": 1, "parts": LAYOUT.parts[:1]}.items():
        assert describe([msgspec.structs.replace(LAYOUT, **{field: value})], 64) != base
    assert describe([LAYOUT], 32) != base
