"""Same tokens however requests are scheduled: the null platform finds wrong blocks, a straight line is the truth."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelet.cache.groups import ceil_div
from kernelet.config import CacheConfig, SchedulerConfig
from kernelet.contracts.offer import Settings
from kernelet.scheduler.policies import FCFSPolicy, PriorityPolicy
from kernelet.testing.null.harness import null_core, null_engine_config
from kernelet.testing.null.tokens import digests, pooled, straight_line
from kernelet.testing.scenarios import Shape, arrivals, compare, make_arrivals, run

VOCAB = 50
CONTEXT = 160
STOPS = (3, 4)
SHAPE = Shape(vocab_size=VOCAB, stop_token_ids=STOPS, pooling=True)
GROWING = Shape(vocab_size=VOCAB, stop_token_ids=STOPS, max_prompt=60, max_shared=40, max_output=100, pooling=True)
GROUPS = {
    "full": (("full_attention",) * 2, None),
    "mixed": (("full_attention", "sliding_attention"), 20),
    "tiny window": (("sliding_attention", "full_attention"), 1),
    "sliding": (("sliding_attention",), 9),
}


def make_core(*, groups="full", seqs=64, chunk=2048, pool=20.0, caching=True, depth=1, priority=False, block_size=4):
    layer_types, window = GROUPS[groups]
    blocks = 1 + int(pool * ceil_div(CONTEXT, block_size))
    config = null_engine_config(
        layer_types=layer_types,
        window=window,
        vocab_size=VOCAB,
        max_model_len=CONTEXT,
        cache=CacheConfig(block_size=block_size, num_blocks=blocks, enable_prefix_caching=caching),
        scheduler=SchedulerConfig(max_num_seqs=seqs, max_num_batched_tokens=chunk, depth=depth),
    )
    policy = (PriorityPolicy if priority else FCFSPolicy)(Settings(plugin="core"))
    return null_core(config, policy=policy)[0]


def pooled_alone(request):
    return pooled(digests(request.prompt_token_ids), request.pooling)


def play(scenario, check_every=1, **options):
    got = run(make_core(**options), scenario, check_every)
    compare(scenario, got, lambda request: straight_line(request, VOCAB), pooled_alone)
    return got


@settings(max_examples=100)
@given(
    scenario=arrivals(SHAPE, max_count=24),
    groups=st.sampled_from(list(GROUPS)),
    seqs=st.sampled_from([1, 7, 64]),
    chunk=st.sampled_from([2048, 100, 16, 1]),
    pool=st.sampled_from([20.0, 4.0, 1.5, 1.0]),
    caching=st.booleans(),
    depth=st.sampled_from([1, 2, 3]),
    priority=st.booleans(),
    block_size=st.sampled_from([4, 16, 1]),
)
def test_any_way_of_scheduling(scenario, groups, seqs, chunk, pool, caching, depth, priority, block_size):
    play(
        scenario,
        groups=groups,
        seqs=seqs,
        chunk=chunk,
        pool=pool,
        caching=caching,
        depth=depth,
        priority=priority,
        block_size=block_size,
    )


@pytest.mark.parametrize("groups, depth", [("full", 1), ("mixed", 2), ("tiny window", 1)])
@pytest.mark.parametrize("seqs, chunk, pool", [(1, 16, 1.5), (7, 100, 1.5), (64, 100, 4.0), (64, 2048, 20.0)])
def test_two_hundred_requests(groups, depth, seqs, chunk, pool):
    scenario = make_arrivals(GROWING, seed=11, count=200, spread=100)
    with_cache = play(scenario, 10, groups=groups, depth=depth, seqs=seqs, chunk=chunk, pool=pool)
    without = play(scenario, 10, groups=groups, depth=depth, seqs=seqs, chunk=chunk, pool=pool, caching=False)

    assert with_cache.total("prefix_hits") > 500
    assert without.total("prefix_hits") == without.total("prefix_queries") == 0
    assert with_cache.total("num_prefill_tokens") < without.total("num_prefill_tokens")
    if chunk < 120:
        assert with_cache.total("num_chunked") > 10
    if seqs > 1:
        assert with_cache.mixed_batches > 50
        assert max(step.num_running for step in without.steps) > 1
    if seqs > 1 and pool < 20.0:
        assert without.total("num_preempted") > 5
        assert sum(record.num_preemptions for record in without.finished) == without.total("num_preempted")
    assert {record.finish_reason for record in with_cache.finished} == {"stop", "length", "abort"}


def test_counters_add_up():
    scenario = make_arrivals(Shape(vocab_size=VOCAB, aborts=False), seed=5, count=40, spread=30)
    got = play(scenario, pool=3.0, chunk=32)
    assert got.total("num_decode_tokens") == sum(len(outcome.token_ids) for outcome in got.outcomes.values())
    prompts = sum(len(arrival.request.prompt_token_ids) for arrival in scenario)
    cached = sum(record.num_cached_tokens for record in got.finished)
    assert got.total("num_preempted") == sum(record.num_preemptions for record in got.finished)
    if got.total("num_preempted") == 0:
        assert got.total("num_prefill_tokens") == prompts - cached
    else:
        assert got.total("num_prefill_tokens") > prompts - cached - 1
    assert all(step.num_running <= 64 and 0.0 <= step.cache_usage <= 1.0 for step in got.steps)
    assert [step.step for step in got.steps] == list(range(len(got.steps)))
