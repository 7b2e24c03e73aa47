"""What is scheduled, in which order, with which blocks."""

from __future__ import annotations

from scheduler_world import World, scheduled

from kernelet.contracts.executor import SampledRequest, StepResult
from kernelet.contracts.sampling import SamplerParams, TokenLogprobs
from kernelet.scheduler.policies import PriorityPolicy


def test_prompts_and_decoding_share_a_step():
    world = World()
    world.add("a", 6)
    plan, outputs = world.step()
    assert scheduled(plan) == [("a", 6)]
    assert plan.new[0].block_ids == ([1, 2],)
    assert outputs[0].token_ids == [106]
    world.add("b", 5)
    plan, _ = world.step()
    assert scheduled(plan) == [("a", 1), ("b", 5)]
    assert [new.request_id for new in plan.new] == ["b"]
    stats = world.stats[-1]
    assert (stats.num_prefill_requests, stats.num_decode_requests, stats.num_prefill_tokens) == (1, 1, 5)
    assert stats.num_decode_tokens == stats.num_running == 2
    world.finish()
    assert world.got == {"a": [106, 107, 108, 109], "b": [105, 106, 107, 108]}


def test_blocks_are_added_when_they_are_needed():
    world = World()
    world.add("a", 3, 7)
    plans = world.finish()
    added = [entry.new_block_ids for plan in plans for entry in plan.scheduled]
    assert [len(blocks[0]) if blocks else 0 for blocks in added] == [0, 0, 1, 0, 0, 0, 1]


def test_workers_are_told_who_ended():
    world = World()
    world.add("a", 3, 1)
    plan, outputs = world.step()
    assert outputs[0].finish_reason == "length"
    assert world.scheduler.has_work(), "the worker does not know yet"
    plan, _ = world.step()
    assert (plan.finished, plan.scheduled) == (("a",), ())
    assert not world.scheduler.has_work()
    assert world.scheduler.schedule() is None


def test_long_prompts_are_cut():
    world = World(tokens=10)
    world.add("a", 25, 2)
    world.add("b", 4, 2)
    plans = world.finish()
    assert [scheduled(plan) for plan in plans] == [
        [("a", 10)],
        [("a", 10)],
        [("a", 5), ("b", 4)],
        [("a", 1), ("b", 1)],
        [],
    ]
    assert [[entry.sample for entry in plan.scheduled] for plan in plans[:3]] == [[False], [False], [True, True]]
    assert [stats.num_chunked for stats in world.stats] == [1, 1, 0, 0, 0]


def test_no_more_requests_than_allowed():
    world = World(seqs=2)
    for name in "abc":
        world.add(name)
    plan, _ = world.step()
    assert scheduled(plan) == [("a", 4), ("b", 4)]
    assert (world.stats[-1].num_running, world.stats[-1].num_waiting) == (2, 1)
    world.finish()
    assert len(world.got["c"]) == 4


def test_more_requests_than_tokens_in_a_step():
    world = World(tokens=3)
    for name in "abcdef":
        world.add(name, 1, 5)
    world.finish()
    assert {len(tokens) for tokens in world.got.values()} == {5}
    assert all(stats.num_decode_tokens <= 3 for stats in world.stats)


def test_prefix_hit_on_admission():
    world = World()
    world.add("a", [1] * 10, 1)
    world.step()
    world.add("b", [1] * 10, 1)
    plan, outputs = world.step()
    assert plan.new[0].num_computed_tokens == plan.scheduled[0].num_computed_tokens == 8
    assert outputs[0].num_cached_tokens == 8
    assert (world.stats[-1].prefix_queries, world.stats[-1].prefix_hits) == (10, 8)
    assert world.stats[0].prefix_queries == 10
    assert world.scheduler.take_finished()[1].num_cached_tokens == 8


def test_prompt_logprobs_compute_the_whole_prompt():
    world = World()
    world.add("a", [1] * 10, 1)
    world.step()
    world.add("b", [1] * 10, 0, params=SamplerParams(seed=0, prompt_logprobs=1))
    plan = world.scheduler.schedule()
    assert scheduled(plan) == [("b", 10)]
    assert plan.scheduled[0].sample is False
    given = [TokenLogprobs([1], [0.0], [1])] * 9
    result = SampledRequest(request_id="b", token_ids=[], prompt_logprobs=given)
    outputs, stats = world.scheduler.update(StepResult(step=plan.step, requests=(result,)), 0.0)
    assert outputs[0].prompt_logprobs == given
    assert outputs[0].finish_reason == "length"
    assert stats.prefix_queries == 0


def test_scoring_alone_ends_with_the_prompt():
    world = World(tokens=4)
    world.add("a", 10, 0)
    world.finish()
    (record,) = world.scheduler.take_finished()
    assert (record.finish_reason, record.num_output_tokens, record.first_token_s) == ("length", 0, None)
    assert sum(stats.num_prefill_tokens for stats in world.stats) == 10


def test_preempted_requests_lose_nothing():
    world = World(num_blocks=9, caching=False)  # 8 blocks: 32 tokens
    world.add("a", 4, 24)
    world.add("b", 4, 24)
    plans = world.finish()
    assert world.got == {name: list(range(104, 128)) for name in "ab"}
    preempted = [name for plan in plans for name in plan.preempted]
    assert preempted == ["b"] * len(preempted)
    assert 0 < len(preempted) < 4, "it waits until all of it fits"
    resumed = [new for plan in plans for new in plan.new if new.epoch > 0]
    assert [new.epoch for new in resumed] == list(range(1, len(preempted) + 1))
    assert resumed[0].token_ids[:5] == [ord("b")] * 4 + [104]
    assert resumed[0].num_prompt_tokens == 4
    assert {record.request_id: record.num_preemptions for record in world.scheduler.take_finished()} == {
        "a": 0,
        "b": len(preempted),
    }


def test_a_prompt_is_let_in_as_a_whole():
    world = World(num_blocks=11, tokens=8)  # 10 blocks
    world.add("a", 24, 8)  # 6 blocks, 8 at the end
    world.add("b", 20, 2)  # 5 blocks
    plans = world.finish()
    assert not any(plan.preempted for plan in plans)
    first_of_b = next(index for index, plan in enumerate(plans) if any(new.request_id == "b" for new in plan.new))
    assert "a" in plans[first_of_b].finished


def test_order_is_kept_when_the_first_does_not_fit():
    world = World(num_blocks=11)
    world.add("a", 24, 8)
    world.add("b", 20, 2)
    world.add("c", 1, 1)
    plan, _ = world.step()
    assert scheduled(plan) == [("a", 24)], "c does not overtake b"


def test_priority_decides_who_starts_and_who_gives_way():
    world = World(num_blocks=9, seqs=2, policy=PriorityPolicy, caching=False)
    world.add("a", 4, 24, priority=5)
    world.add("b", 4, 24, priority=1)
    world.add("c", 4, 1, priority=0)
    plans = world.finish()
    assert scheduled(plans[0]) == [("c", 4), ("b", 4)]
    assert {name for plan in plans for name in plan.preempted} == {"a"}


def test_too_small_for_one_request_ends_it_with_the_reason():
    world = World(num_blocks=4)
    world.add("a", 40, 4)
    world.add("b", 8, 20)
    world.add("c", 4, 4)
    failed = []
    for _ in range(100):
        if not world.scheduler.has_work():
            break
        plan = world.scheduler.schedule()
        failed += world.scheduler.take_failed()
        if plan:
            world.update(plan)
    assert [output.request_id for output in failed] == ["a", "b"]
    assert "too small for this request of 40 tokens" in failed[0].error
    assert "10 of 3 blocks" in failed[0].error
    assert len(world.got["b"]) == 5, "what it had until its end"
    assert len(world.got["c"]) == 4
    assert world.cache.capacity.usage == 0.0
