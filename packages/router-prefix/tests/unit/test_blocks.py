from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelet_router_prefix.blocks import CachedBlocks, PromptKeys
from kernelet_router_prefix.wire import Cleared, Removed, Stored


def stored(names, token_ids, parent=None, size=2, **fields):
    return Stored(
        block_hashes=list(names), parent_block_hash=parent, token_ids=list(token_ids), block_size=size, **fields
    )


def longest(blocks, token_ids, salt=None):
    return blocks.longest(PromptKeys(list(token_ids), salt))


def test_a_prefix_is_found_as_far_as_it_is_cached():
    blocks = CachedBlocks()
    blocks.apply(stored([b"a", b"b"], [1, 2, 3, 4]))
    blocks.apply(stored([b"c"], [5, 6], parent=b"b"))
    assert longest(blocks, [1, 2, 3, 4, 5, 6, 7]) == 6
    assert longest(blocks, [1, 2, 3, 9, 5, 6]) == 2
    assert longest(blocks, [3, 4]) == 0
    blocks.apply(Removed(block_hashes=[b"b", b"strange"]))
    assert longest(blocks, [1, 2, 3, 4, 5, 6]) == 2
    blocks.apply(Cleared())
    assert len(blocks) == longest(blocks, [1, 2]) == 0


def test_what_follows_something_lost_is_nowhere():
    blocks = CachedBlocks()
    blocks.apply(stored([b"c"], [1, 2], parent=b"lost"))
    assert len(blocks) == 0


def test_salts_and_adapters_keep_blocks_apart():
    blocks = CachedBlocks()
    blocks.apply(stored([b"a", b"b"], [1, 2, 3, 4], extra_keys=[["salt"], None]))
    blocks.apply(stored([b"x"], [7, 8], lora_name="adapter"))
    assert longest(blocks, [1, 2, 3, 4], "salt") == 4
    assert longest(blocks, [1, 2, 3, 4]) == longest(blocks, [1, 2, 3, 4], "other") == longest(blocks, [7, 8]) == 0


def test_a_block_in_two_places_is_there_until_both_give_it_up():
    blocks = CachedBlocks()
    for medium in ("GPU", "CPU", "GPU"):
        blocks.apply(stored([b"a"], [1, 2], medium=medium))
    blocks.apply(Removed(block_hashes=[b"a"], medium="GPU"))
    assert longest(blocks, [1, 2]) == 2
    blocks.apply(Removed(block_hashes=[b"a"], medium="CPU"))
    assert longest(blocks, [1, 2]) == 0
    blocks.apply(stored([b"g0"], [1, 2]))
    blocks.apply(stored([b"g1"], [1, 2]))
    blocks.apply(Removed(block_hashes=[b"g0"]))
    assert longest(blocks, [1, 2]) == 2, "another name of the same tokens is left"


def test_layers_that_keep_the_end_only_say_nothing_of_prefixes():
    blocks = CachedBlocks()
    blocks.apply(stored([b"a"], [1, 2], kv_cache_spec_kind="sliding_window"))
    assert longest(blocks, [1, 2]) == 0


def test_an_event_that_contradicts_itself():
    with pytest.raises(ValueError, match="3 tokens of 1 blocks of 2"):
        CachedBlocks().apply(stored([b"a"], [1, 2, 3]))


@given(
    st.lists(st.lists(st.integers(0, 1), max_size=9), max_size=6),
    st.lists(st.integers(0, 1), max_size=9),
    st.integers(1, 3),
)
def test_against_a_search_through_all_prompts(prompts, asked, size):
    blocks = CachedBlocks()
    known = set()
    for prompt in prompts:
        parent = None
        for end in range(size, len(prompt) + 1, size):
            prefix = tuple(prompt[:end])
            if prefix not in known:
                blocks.apply(stored([repr(prefix).encode()], prefix[-size:], parent, size))
                known.add(prefix)
            parent = repr(prefix).encode()
    expected = max((len(prefix) for prefix in known if prefix == tuple(asked[: len(prefix)])), default=0)
    assert longest(blocks, asked) == expected
    assert len(blocks) == len(known)
