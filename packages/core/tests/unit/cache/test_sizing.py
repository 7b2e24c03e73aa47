from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelet.cache.groups import group_manager
from kernelet.cache.sizing import group_layers, plan_cache
from kernelet.config import CacheConfig, EngineConfig, ModelConfig, SchedulerConfig
from kernelet.contracts.cache import FullAttentionSpec, SlidingWindowSpec
from kernelet.errors import ConfigError, InsufficientMemoryError


def full(page_bytes=1024, block_size=16):
    return FullAttentionSpec(block_size=block_size, page_bytes=page_bytes, num_kv_heads=1, head_size=8, dtype="float32")


def sliding(window=64, page_bytes=1024, block_size=16):
    return SlidingWindowSpec(
        block_size=block_size, page_bytes=page_bytes, num_kv_heads=1, head_size=8, dtype="float32", window=window
    )


def config(max_model_len=1024, chunk=128, **cache):
    model = ModelConfig(
        model="m",
        path="",
        architecture="A",
        hf_config={},
        dtype="float32",
        vocab_size=9,
        max_model_len=max_model_len,
        num_layers=2,
    )
    return EngineConfig(
        model=model, cache=CacheConfig(**cache), scheduler=SchedulerConfig(max_num_batched_tokens=chunk)
    )


def test_equal_specs_share_a_group_in_the_order_of_the_layers():
    groups = group_layers({"l0": sliding(), "l1": full(), "l2": sliding(), "l3": sliding(window=32), "l4": full()})
    assert [group.layers for group in groups] == [("l0", "l2"), ("l1", "l4"), ("l3",)]
    assert groups[0].bytes_per_block == 2048


def test_same_number_more_in_each_group():
    specs = {"l0": full(), "l1": sliding(), "l2": full()}
    # full: 64 blocks at the peak; sliding: 191 tokens beside each other touch at most 13 blocks; and the null blocks
    least = 65 * 2048 + 14 * 1024
    plan = plan_cache(specs, config(memory_bytes=least + 10 * 3072 + 3071), 1 << 30)
    assert [group.num_blocks for group in plan.groups] == [75, 24]
    exact = plan_cache(specs, config(memory_bytes=least), 1 << 30)
    assert [group.num_blocks for group in exact.groups] == [65, 14]


def test_share_of_what_is_left():
    plan = plan_cache({"l0": full()}, config(memory_utilization=0.25), 4 * 100 * 1024)
    assert plan.groups[0].num_blocks == 100


def test_shortfall_names_the_largest_context_and_the_flags():
    specs = {"l0": full()}
    with pytest.raises(InsufficientMemoryError) as caught:
        plan_cache(specs, config(memory_bytes=41 * 1024 + 1023), 1 << 30)
    text = str(caught.value)
    assert "1024 tokens" in text
    for part in ("--max-model-len 640", "--kv-cache-memory-bytes", "--memory-utilization", "--num-blocks"):
        assert part in text
    assert plan_cache(specs, config(max_model_len=640, memory_bytes=41 * 1024), 1 << 30).groups[0].num_blocks == 41


def test_nothing_fits():
    with pytest.raises(InsufficientMemoryError, match="Not even one token fits"):
        plan_cache({"l0": full()}, config(), -5)


def test_more_bytes_than_there_are():
    with pytest.raises(
        InsufficientMemoryError, match=r"--kv-cache-memory-bytes asks for 2.00 GiB of cache, but only 1.00 MiB are left"
    ):
        plan_cache({"l0": full()}, config(memory_bytes=2 << 30), 1 << 20)


def test_forced_blocks():
    plan = plan_cache({"l0": full(), "l1": sliding()}, config(num_blocks=65), 0)
    assert [group.num_blocks for group in plan.groups] == [65, 65]
    with pytest.raises(
        InsufficientMemoryError, match=r"needs 65 blocks in a group, but --num-blocks is 64.*--max-model-len 1008"
    ):
        plan_cache({"l0": full(), "l1": sliding()}, config(num_blocks=64), 0)


def test_no_layers():
    with pytest.raises(ConfigError, match="no layer"):
        plan_cache({}, config(), 1 << 30)


@given(
    window=st.integers(1, 200),
    context=st.integers(1, 500),
    chunk=st.integers(1, 300),
    block_size=st.sampled_from([1, 4, 16]),
    budget=st.integers(0, 1 << 20),
)
def test_never_more_than_the_budget_and_always_one_request(window, context, chunk, block_size, budget):
    specs = {"a": full(100, block_size), "b": sliding(window, 300, block_size), "c": sliding(window, 300, block_size)}
    try:
        plan = plan_cache(specs, config(context, chunk, memory_bytes=budget), 1 << 30)
    except InsufficientMemoryError as error:
        fits = 0 if "Not even one" in str(error) else int(str(error).split("--max-model-len ")[1].split(",")[0])
        assert fits < context
        if fits:
            plan_cache(specs, config(fits, chunk, memory_bytes=budget), 1 << 30)
        with pytest.raises(InsufficientMemoryError):
            plan_cache(specs, config(fits + 1, chunk, memory_bytes=budget), 1 << 30)
        return
    used = sum(group.num_blocks * group.bytes_per_block for group in plan.groups)
    step = sum(group.bytes_per_block for group in plan.groups)
    assert budget - step < used <= budget
    for group in plan.groups:
        assert group.num_blocks - 1 >= group_manager(group.spec).peak_blocks(context, chunk)
