from __future__ import annotations

import numpy as np
import pytest
import torch

from kernelet.contracts.cache import FullAttentionSpec
from kernelet.errors import ConfigError

TOLERANCE = {"float64": 1e-12, "float32": 1e-5, "bfloat16": 3e-2, "float16": 4e-3}

FEATURES = {
    "plain": {},
    "one kv head": {"num_kv_heads": 1},
    "no groups": {"num_kv_heads": 4},
    "window": {"window": 6},
    "window of one": {"window": 1},
    "window of a block": {"window": 4},
    "soft cap": {"soft_cap": 1.5},
    "sinks": {"sinks": True},
    "all": {"window": 7, "soft_cap": 2.0, "sinks": True},
    "odd head": {"head_size": 5},
    "large blocks": {"block_size": 16},
}


def run_random_steps(harness, steps, seed):
    random = np.random.default_rng(seed)
    for _ in range(steps):
        names = random.choice(["a", "b", "c", "d", "e"], size=random.integers(1, 6), replace=False)
        counts = {str(name): int(random.choice([1, 1, 1, 2, 5, 11])) for name in names}
        got, expected, _ = harness.step(counts)
        assert not got.isnan().any()
        torch.testing.assert_close(
            got.double(), expected, atol=TOLERANCE[harness.spec.dtype], rtol=TOLERANCE[harness.spec.dtype]
        )


@pytest.mark.parametrize("feature", FEATURES)
@pytest.mark.parametrize("seed", [0, 1])
def test_any_mix_of_chunks_and_decodes(harness, spec, feature, seed):
    run_random_steps(harness(spec(**FEATURES[feature]), num_blocks=128, seed=seed), 6, seed)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("feature", ["plain", "window", "all"])
def test_dtypes(harness, spec, dtype, feature):
    run_random_steps(harness(spec(**FEATURES[feature], dtype=dtype), num_blocks=128, seed=3), 5, 3)


@pytest.mark.parametrize("feature", [{}, {"window": 20}, {"soft_cap": 1.0}, {"window": 20, "sinks": True}])
def test_prompt_longer_than_a_tile(harness, spec, feature, monkeypatch):
    monkeypatch.setattr("kernelet_platform_cpu.attention.metadata.TILE", 16)
    one = harness(spec(**feature), seed=5)
    for count in (50, 37, 1):
        got, expected, _ = one.step({"a": count, "b": 2})
        torch.testing.assert_close(got, expected, atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("window", [None, 300, 600])
def test_real_tiles(harness, spec, window):
    one = harness(spec(window=window, num_heads=1, num_kv_heads=1, head_size=4, block_size=16), num_blocks=100, seed=6)
    for count in (400, 530):
        got, expected, _ = one.step({"a": count}, every=37)
        torch.testing.assert_close(got, expected, atol=1e-11, rtol=1e-11)


def test_decode_rows_of_unequal_lengths_are_grouped(harness, spec, monkeypatch):
    monkeypatch.setattr("kernelet_platform_cpu.attention.metadata.MAX_PADDING", 12)
    one = harness(spec(), num_blocks=128, seed=7)
    one.step({"a": 60, "b": 3, "c": 55, "d": 2, "e": 30})
    got, expected, metadata = one.step({"b": 1, "a": 1, "e": 1, "c": 1, "d": 1})
    assert len(metadata.decodes) > 1
    torch.testing.assert_close(got, expected, atol=1e-12, rtol=1e-12)


def test_what_an_earlier_owner_left_does_not_leak(harness, spec):
    """NaN of a failed request stays in its blocks; the next owner must not see it (the harness poisons all blocks)."""
    one = harness(spec(), seed=11)
    for count in (1, 1, 3, 1, 1):
        got, expected, _ = one.step({"a": count, "b": 1})
        assert torch.isfinite(got).all()
        torch.testing.assert_close(got, expected, atol=1e-12, rtol=1e-12)


def test_rows_do_not_depend_on_poisoned_neighbours(harness, spec):
    one = harness(spec(), seed=12)
    one.step({"a": 5, "b": 9})
    one.cache[one.tables["b"]] = torch.nan
    got, expected, _ = one.step({"a": 1, "b": 1})
    torch.testing.assert_close(got[0], expected[0], atol=1e-12, rtol=1e-12)
    assert got[1].isnan().all()


def test_copied_blocks_are_equal(harness, spec):
    one = harness(spec(), seed=13)
    one.step({"a": 8})
    first, second = one.tables["a"]
    other = one.free.pop()
    one.attention.copy_blocks(one.cache, [first, second], [int(other), first])
    copied = one.cache[[int(other), first]]
    keys = torch.stack([one.keys["a"][:4], one.keys["a"][4:8]]).transpose(1, 2)
    assert torch.equal(copied[:, 0], keys)


def test_cache_is_zeroed_and_within_its_pages(harness, spec):
    one = harness(spec(dtype="bfloat16"))
    small = FullAttentionSpec(block_size=4, page_bytes=8, num_kv_heads=2, head_size=8, dtype="bfloat16")
    with pytest.raises(ConfigError, match="its spec allows 8 a block"):
        one.attention.allocate_cache(small, 3, torch.device("cpu"))
    fits = FullAttentionSpec(block_size=4, page_bytes=2 * 4 * 2 * 8 * 2, num_kv_heads=2, head_size=8, dtype="bfloat16")
    cache = one.attention.allocate_cache(fits, 3, torch.device("cpu"))
    assert cache.nbytes == 3 * fits.page_bytes
    assert not cache.any()
