from __future__ import annotations

import pytest
import torch

from kernelet.contracts.attention import AttentionSpec
from kernelet.contracts.cache import FullAttentionSpec
from kernelet.contracts.offer import Settings
from kernelet.errors import ConfigError
from kernelet_attention_triton.attention import TritonAttention

FORMS = [("", ""), ("e4m3fn", "tensor"), ("int8", "token_head")]


def layer(cache_dtype="", cache_scales="", **changes):
    values = {"num_heads": 4, "num_kv_heads": 2, "head_size": 8, "dtype": "bfloat16", "block_size": 4, "scale": 1.0}
    values = {"kind": "full", **values, **changes}
    spec = AttentionSpec(cache_dtype=cache_dtype, cache_scales=cache_scales, **values)
    return TritonAttention(spec, Settings(plugin="x", values={"batch_invariant": False}))


def cache_spec(made, page_bytes):
    spec = made.spec
    return FullAttentionSpec(
        block_size=spec.block_size,
        num_kv_heads=spec.num_kv_heads,
        head_size=spec.head_size,
        page_bytes=page_bytes,
        dtype=spec.cache_dtype or spec.dtype,
    )


@pytest.mark.parametrize("form", FORMS)
def test_a_cache_is_as_large_as_its_pages(form):
    made = layer(*form)
    exact = 2 * 4 * 2 * {"": 16, "e4m3fn": 8, "int8": 12}[form[0]]
    cache = made.allocate_cache(cache_spec(made, exact), 3, "cpu")
    assert sum(part.nbytes for part in cache) == 3 * exact
    assert sum(region.block_bytes for region in made.regions(cache)) == exact
    with pytest.raises(ConfigError, match="its spec allows"):
        made.allocate_cache(cache_spec(made, exact - 1), 3, "cpu")


@pytest.mark.parametrize("form", FORMS)
def test_a_latent_cache_has_one_vector_a_token(form):
    made = layer(*form, kind="mla", num_kv_heads=1, head_size=12, kv_lora_rank=8)
    exact = 4 * {"": 24, "e4m3fn": 12, "int8": 16}[form[0]]
    spec = cache_spec(made, exact)
    cache = made.allocate_cache(spec, 5, "cpu")
    assert sum(part.nbytes for part in cache) == 5 * exact
    cache[0].view(torch.uint8).random_(0, 100, generator=torch.Generator().manual_seed(0))
    parts = made.export_pages(cache, [3, 1], 2, 7)
    assert [tuple(part.shape) for part in parts] == [(5, 1, 12), (5, 1, 1)][: len(parts)]
    assert torch.equal(parts[0][2:].view(torch.uint8), cache[0][1, 0, :, :3].transpose(0, 1).view(torch.uint8))
    assert made.native_layout() != layer(*form, num_kv_heads=1, head_size=12).native_layout()


@pytest.mark.parametrize("form", FORMS)
def test_pages_move_to_blocks_of_another_size(form):
    source, other = layer(*form), layer(*form, block_size=6)
    mine = source.allocate_cache(cache_spec(source, 1 << 20), 8, "cpu")
    theirs = other.allocate_cache(cache_spec(other, 1 << 20), 8, "cpu")
    for part in mine:
        part.view(torch.uint8).random_(0, 100, generator=torch.Generator().manual_seed(0))
    parts = source.export_pages(mine, [5, 2, 7], 3, 11)
    assert torch.equal(parts[0][0].view(torch.uint8), mine[0][5, 0, :, 3].view(torch.uint8))
    assert torch.equal(parts[1][1].view(torch.uint8), mine[0][2, 1, :, 0].view(torch.uint8))
    other.import_pages(theirs, [1, 4], 3, parts)
    again = other.export_pages(theirs, [1, 4], 3, 11)
    assert all(torch.equal(a.view(torch.uint8), b.view(torch.uint8)) for a, b in zip(parts, again, strict=True))
    assert not theirs[0][1, :, :, :3].view(torch.uint8).any()


def test_a_layout_names_what_a_page_depends_on():
    made = [layer(), layer(block_size=8), layer(head_size=16), layer(num_kv_heads=4), layer(*FORMS[1])]
    assert len({one.native_layout() for one in made}) == len(made)
    assert layer(num_heads=8, scale=2.0).native_layout() == layer().native_layout()
