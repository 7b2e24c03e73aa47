from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelet.cache.groups import (
    FullGroupManager,
    SlidingWindowGroupManager,
    ceil_div,
    group_manager,
    manager_kinds,
    spec_kind,
)
from kernelet.contracts.cache import CacheSpec, FullAttentionSpec, SlidingWindowSpec
from kernelet.errors import ConfigError

COMMON = {"page_bytes": 64, "num_kv_heads": 1, "head_size": 8, "dtype": "float32"}


def full(block_size):
    return FullAttentionSpec(block_size=block_size, **COMMON)


def sliding(block_size, window):
    return SlidingWindowSpec(block_size=block_size, window=window, **COMMON)


def needed_blocks(position, window, block_size):
    """Blocks that the token at a position attends to, itself included; token by token."""
    first = 0 if window is None else max(0, position - window + 1)
    return {p // block_size for p in range(first, position + 1)}


sizes = st.integers(1, 5)
windows = st.one_of(st.none(), st.integers(1, 12))


def manager_of(block_size, window):
    return (
        FullGroupManager(full(block_size)) if window is None else SlidingWindowGroupManager(sliding(block_size, window))
    )


@given(st.integers(0, 100), st.integers(1, 9))
def test_ceil_div(value, divisor):
    assert ceil_div(value, divisor) == len(range(0, value, divisor))


@given(sizes, windows, st.integers(0, 40))
def test_first_kept_block_is_the_first_that_the_next_token_sees(block_size, window, computed):
    assert manager_of(block_size, window).first_kept_block(computed) == min(needed_blocks(computed, window, block_size))


@given(sizes, windows, st.integers(0, 40))
def test_num_blocks(block_size, window, tokens):
    assert manager_of(block_size, window).num_blocks(tokens) == len({p // block_size for p in range(tokens)})


@given(sizes, windows, st.lists(st.booleans(), max_size=10), st.integers(0, 12))
def test_longest_hit_against_trying_every_length(block_size, window, present, most):
    def possible(count):
        behind = {block for block in needed_blocks(count * block_size, window, block_size) if block < count}
        return all(present[block] for block in behind)

    truth = max(count for count in range(min(most, len(present)) + 1) if possible(count))
    assert manager_of(block_size, window).longest_hit(present, most) == truth


@given(sizes, windows, st.integers(1, 60), st.integers(1, 30))
def test_peak_is_never_exceeded(block_size, window, tokens, chunk):
    """Compute in chunks of every size up to ``chunk`` from every start, dropping what is out of the window."""
    manager = manager_of(block_size, window)
    peak = manager.peak_blocks(tokens, chunk)
    held = 0
    for start in range(tokens):
        end = min(tokens, start + chunk)
        blocks = set().union(*(needed_blocks(p, window, block_size) for p in range(start, end)))
        held = max(held, len(blocks))
    assert held <= peak <= manager.num_blocks(tokens)
    if window is None:
        assert peak == held


def test_peak_does_not_grow_with_the_context():
    manager = SlidingWindowGroupManager(sliding(16, 64))
    assert manager.peak_blocks(10_000, 32) == manager.peak_blocks(1_000_000, 32) == 7


def test_wrong_spec():
    with pytest.raises(TypeError, match="sliding-window"):
        SlidingWindowGroupManager(full(4))


def test_managers_by_kind():
    assert isinstance(group_manager(full(4)), FullGroupManager)
    assert isinstance(group_manager(sliding(4, 3)), SlidingWindowGroupManager)


class OtherSpec(CacheSpec, frozen=True, tag="other", kw_only=True):
    pass


class OtherManager(FullGroupManager):
    pass


def test_kinds_of_plugins():
    spec = OtherSpec(block_size=4, page_bytes=8)
    assert spec_kind(spec) == "other"
    with pytest.raises(ConfigError, match=r"kind 'other'.*full, mla, sliding_window.*kernelet_cache_specs"):
        group_manager(spec)
    assert isinstance(group_manager(spec, manager_kinds([("other", OtherManager)])), OtherManager)
    assert set(manager_kinds([])) == {"full", "sliding_window", "mla"}
