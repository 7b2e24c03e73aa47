from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from kernelet.testing.attention.kept import FORMS, SlowKept, changes_of
from kernelet.testing.attention.pages import Pages, storages_of, tensors_of
from kernelet.testing.attention.reference import SlowAttention
from kernelet.testing.attention.steps import cache_spec_of
from kernelet.testing.verdict import ConformanceError


@dataclass
class Pair:
    first: torch.Tensor
    second: list[torch.Tensor]


def pages_of(attention, spec, blocks=6):
    cache = attention.allocate_cache(cache_spec_of(spec), blocks, "cpu")
    return cache, Pages(attention, cache, cache_spec_of(spec), blocks, "cpu")


def test_tensors_are_found_wherever_they_are():
    one, two, three = torch.zeros(1), torch.zeros(2), torch.zeros(3)
    assert list(tensors_of({"a": Pair(one, [two]), "b": SimpleNamespace(x=(three, 7, "text"))})) == [one, two, three]
    assert [len(flat) for flat in storages_of((torch.zeros(4, 3).T, one, one[:0]))] == [12, 1]
    (flat,) = storages_of(torch.zeros(4, 3)[1:])
    flat.fill_(1)
    assert len(flat) == 12


def test_each_block_is_found(layers):
    spec = layers.spec(num_kv_heads=2, head_size=3, block_size=4)
    cache, pages = pages_of(SlowAttention(spec), spec)
    assert not cache.any()
    for block in range(6):
        pages.fill(block, block + 1.0)
    assert all((cache[:, block] == block + 1).all() for block in range(6))
    pages.copy(4, 2)
    assert (cache[:, 2] == 5).all() and (cache[:, 1] == 2).all()
    assert pages.read(3).tolist() == [4.0] * (2 * 4 * 2 * 3)
    pages.fill_all(6, 9.0, null=8.0)
    assert (cache[:, 1:] == 9).all() and (cache[:, 0] == 8).all()


class HeadsFirst(SlowAttention):
    """Two tensors [kv_head, token, block, size]; and no null block."""

    def allocate_cache(self, spec, num_blocks, device):
        shape = (spec.num_kv_heads, spec.block_size, num_blocks - 1, spec.head_size)
        return {name: torch.zeros(shape, dtype=getattr(torch, spec.dtype)) for name in ("key", "value")}

    def write_kv(self, key, value, cache, metadata):
        for row, slot in enumerate(metadata.slot_mapping.tolist()):
            block, offset = divmod(slot, self.spec.block_size)
            cache["key"][:, offset, block - 1] = key[row]
            cache["value"][:, offset, block - 1] = value[row]


def test_other_orders_are_found_too(layers):
    spec = layers.spec(num_kv_heads=2, head_size=3, block_size=4)
    cache, pages = pages_of(HeadsFirst(spec), spec)
    pages.fill(3, 7.0)
    assert (cache["key"][:, :, 2] == 7).all() and (cache["value"][:, :, 2] == 7).all()
    assert int(cache["key"].count_nonzero()) == 2 * 4 * 3
    assert not pages.read(0).numel()


class Nowhere(SlowAttention):
    def write_kv(self, key, value, cache, metadata):
        cache[0, 1, 0, 0, 0] = 1


class Scattered(SlowAttention):
    def write_kv(self, key, value, cache, metadata):
        metadata.slot_mapping[:] = (metadata.slot_mapping * 7) % (5 * self.spec.block_size) + self.spec.block_size
        super().write_kv(key, value, cache, metadata)


def test_what_cannot_be_found(layers):
    spec = layers.spec()
    with pytest.raises(ConformanceError, match="must store each key and value"):
        pages_of(Nowhere(spec), spec)
    with pytest.raises(NotImplementedError, match="no tensor in the cache"):
        Pages(SlowAttention(spec), object(), cache_spec_of(spec), 6, "cpu")
    with pytest.raises(NotImplementedError, match="constant distance"):
        pages_of(Scattered(spec), spec)


@pytest.mark.parametrize("form", FORMS)
def test_bytes_of_other_caches(layers, form):
    spec = layers.spec(num_kv_heads=2, head_size=3, block_size=4, dtype="float32", **changes_of(form))
    attention = SlowKept(spec)
    cache = attention.allocate_cache(cache_spec_of(spec), 6, "cpu")
    pages = Pages(attention, cache, cache_spec_of(spec), 6, "cpu", spec.dtype)
    assert not any(part.any() for part in cache)
    size = cache_spec_of(spec).page_bytes
    assert len(pages.read(3)) == size
    pages.fill(3, 2.0)
    key, value = attention.seen(cache, np.array([3]), 4, 4)
    assert (key - 2).abs().max() < 0.1 and (value - 2).abs().max() < 0.1
    assert not pages.read(1).any()  # what a number looks like was tried there
    pages.fill(3, float("nan"))
    assert all(part.isnan().all() for part in attention.seen(cache, np.array([3]), 4, 4))
    pages.fill_all(6, 1.0)
    assert torch.equal(pages.read(5), pages.read(1))
    assert not pages.read(0).any()
