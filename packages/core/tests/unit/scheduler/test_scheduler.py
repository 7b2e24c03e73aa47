from __future__ import annotations

import pytest

from kernelet.cache.manager import CacheManager
from kernelet.config import CacheConfig, SchedulerConfig
from kernelet.contracts.cache import CacheConfigPlan, CacheGroup, FullAttentionSpec
from kernelet.contracts.executor import SampledRequest, StepResult
from kernelet.contracts.offer import Settings
from kernelet.contracts.sampling import SamplerParams, TokenLogprobs
from kernelet.errors import ParameterError, RequestError
from kernelet.request.status import FinishReason
from kernelet.scheduler.policies import FCFSPolicy, PriorityPolicy
from kernelet.scheduler.scheduler import Scheduler
from kernelet.testing.null.harness import null_request

SPEC = FullAttentionSpec(block_size=4, page_bytes=64, num_kv_heads=1, head_size=8, dtype="float32")
ABORT = FinishReason.ABORT


class World:
    """A scheduler and a worker that answers 100, 101, ... by the number of tokens that a request has."""

    def __init__(self, num_blocks=101, seqs=64, tokens=2048, policy=FCFSPolicy, caching=True):
        plan = CacheConfigPlan(groups=(CacheGroup(spec=SPEC, layers=("a",), num_blocks=num_blocks),))
        self.cache = CacheManager(plan, CacheConfig(enable_prefix_caching=caching), chunk=tokens)
        self.now = 0.0
        self.scheduler = Scheduler(
            SchedulerConfig(max_num_seqs=seqs, max_num_batched_tokens=tokens),
            self.cache,
            max_model_len=400,
            policy=policy(Settings(plugin="core")),
            clock=lambda: self.now,
        )
        self.stats = []
        self.got = {}

    def add(self, name, prompt=4, max_tokens=4, **fields):
        tokens = [ord(name[0])] * prompt if isinstance(prompt, int) else prompt
        self.scheduler.add(null_request(name, tokens, max_tokens, **fields))

    def answer(self, plan, errors=()):
        def one(entry):
            token = [100 + entry.num_computed_tokens + entry.num_tokens] if entry.sample else []
            return SampledRequest(
                request_id=entry.request_id,
                token_ids=token,
                epoch=entry.epoch,
                error="broken" if entry.request_id in errors else None,
            )

        return StepResult(step=plan.step, requests=tuple(one(entry) for entry in plan.scheduled))

    def update(self, plan, errors=()):
        outputs, stats = self.scheduler.update(self.answer(plan, errors), self.now)
        self.stats.append(stats)
        for output in outputs:
            self.got.setdefault(output.request_id, []).extend(output.token_ids)
        self.cache.check()
        return outputs

    def step(self, errors=()):
        plan = self.scheduler.schedule()
        return plan, self.update(plan, errors)

    def finish(self, limit=500):
        plans = []
        while self.scheduler.has_work():
            plans.append(self.step()[0])
            assert len(plans) < limit
        return plans


def scheduled(plan):
    return [(entry.request_id, entry.num_tokens) for entry in plan.scheduled]


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


def test_one_request_fails_alone():
    world = World()
    for name in "abc":
        world.add(name)
    _, outputs = world.step(errors={"b"})
    assert {output.request_id: output.error for output in outputs} == {"a": None, "b": "broken", "c": None}
    assert [output.finish_reason for output in outputs] == [None, "error", None]
    plan, _ = world.step()
    assert plan.finished == ("b",)
    world.finish()
    assert len(world.got["a"]) == len(world.got["c"]) == 4


def test_strange_data_fails_its_request_alone():
    world = World()
    world.add("a")
    world.add("bad", ["no token"] * 9)
    world.add("c")
    plan, _ = world.step()
    assert scheduled(plan) == [("a", 4), ("c", 4)]
    (failed,) = world.scheduler.take_failed()
    assert (failed.request_id, failed.finish_reason) == ("bad", "error")
    assert failed.error.startswith("error: required argument is not an integer")
    world.finish()


def test_wrong_answers_fail_their_request_alone():
    world = World()
    world.add("a")
    world.add("b")
    plan = world.scheduler.schedule()
    (first, _) = world.answer(plan).requests
    outputs, _ = world.scheduler.update(StepResult(step=plan.step, requests=(first,)), 0.0)
    assert [output.error for output in outputs] == [None, "the worker returned no result for this request"]


def test_result_of_another_step_is_no_request_s_fault():
    world = World()
    world.add("a")
    world.scheduler.schedule()
    with pytest.raises(RuntimeError, match="step 9 instead of 0"):
        world.scheduler.update(StepResult(step=9), 0.0)


def test_refused_requests_leave_nothing():
    world = World()
    world.add("a")
    with pytest.raises(ParameterError):
        world.add("b", 10, 400)
    with pytest.raises(RequestError, match="in use"):
        world.add("a")
    world.finish()
    assert list(world.got) == ["a"]


def test_abort_in_every_state():
    world = World(seqs=1, tokens=4)
    world.add("running", 4, 9)
    world.add("waiting", 4, 9)
    world.step()
    outputs = world.scheduler.abort(["waiting", "running", "waiting", "unknown"], ABORT)
    assert [(output.request_id, output.finish_reason) for output in outputs] == [
        ("waiting", "abort"),
        ("running", "abort"),
    ]
    assert world.scheduler.abort(["running"], ABORT) == []
    plan, _ = world.step()
    assert plan.finished == ("running",), "the other one never reached the worker"
    assert world.cache.capacity.usage == 0.0
    assert not world.scheduler.has_work()


def test_abort_of_a_preempted_request():
    world = World(num_blocks=9, caching=False)
    world.add("a", 4, 24)
    world.add("b", 4, 24)
    while not world.step()[0].preempted:
        pass
    world.scheduler.abort(["b"], ABORT)
    plan, _ = world.step()
    assert plan.finished == (), "the worker was told that it was preempted"
    world.finish()
    assert len(world.got["a"]) == 24


def test_stop_strings_end_as_stop():
    world = World()
    world.add("a")
    world.step()
    assert world.scheduler.abort(["a"], FinishReason.STOP)[0].finish_reason == "stop"
    assert world.scheduler.take_finished()[0].finish_reason == "stop"


# --- several steps in flight ---------------------------------------------------------------------


def test_placeholders_run_ahead_of_results():
    world = World()
    world.add("a", 6, 3)
    plans = [world.scheduler.schedule() for _ in range(4)]
    assert [(e.num_computed_tokens, e.num_tokens, e.sample) for p in plans[:3] for e in p.scheduled] == [
        (0, 6, True),
        (6, 1, True),
        (7, 1, True),
    ]
    assert plans[3] is None, "all that it may generate is in flight"
    for plan in plans[:3]:
        world.update(plan)
    assert world.got["a"] == [106, 107, 108]
    assert world.scheduler.take_finished()[0].finish_reason == "length"


def test_a_stop_drops_what_is_in_flight():
    world = World()
    world.add("a", 6, 9, stop_token_ids=(107,))
    plans = [world.scheduler.schedule() for _ in range(4)]
    for plan in plans:
        world.update(plan)
    assert world.got["a"] == [106, 107]
    assert [stats.num_decode_tokens for stats in world.stats] == [1, 1, 0, 0]
    assert world.step()[0].finished == ("a",)


def test_aborted_id_comes_back_while_its_step_is_in_flight():
    world = World()
    world.add("a", 6)
    old = world.scheduler.schedule()
    world.scheduler.abort(["a"], ABORT)
    world.add("a", [5] * 9)
    new = world.scheduler.schedule()
    assert (new.finished, new.new[0].token_ids) == (("a",), [5] * 9)
    assert world.update(old) == []
    assert world.update(new)[0].token_ids == [109]


def test_results_of_an_old_epoch_are_dropped():
    world = World(num_blocks=7, caching=False)  # 6 blocks
    world.add("a", 7, 9)
    world.add("b", 11, 9)
    flight, late = [], []
    while not late:
        plan = world.scheduler.schedule()
        flight.append(plan)
        if "b" in plan.preempted:
            late = [p for p in flight if any(e.request_id == "b" for e in p.scheduled)]
    for plan in flight:
        world.update(plan)
    assert late
    assert "b" not in world.got, "every result of it was of the old epoch"
    world.finish()
    assert world.got == {"a": list(range(107, 116)), "b": list(range(111, 120))}


def test_results_of_an_old_epoch_are_dropped_after_the_resume():
    world = World(num_blocks=7, caching=False)
    world.add("a", 7, 9)
    world.add("b", 11, 9)
    flight = []
    while not flight or "b" not in flight[-1].preempted:
        flight.append(world.scheduler.schedule())
    world.scheduler.abort(["a"], ABORT)
    resumed = world.scheduler.schedule()
    assert [(new.request_id, new.epoch) for new in resumed.new] == [("b", 1)]
    for plan in flight:
        assert world.update(plan) == []
    assert world.update(resumed)[0].token_ids == [111]
    world.finish()
    assert world.got["b"] == list(range(111, 120))


def test_fail_all():
    world = World(seqs=1)
    world.add("a")
    world.add("b")
    world.scheduler.schedule()
    outputs = world.scheduler.fail_all("dead")
    assert {(output.request_id, output.error) for output in outputs} == {("a", "dead"), ("b", "dead")}
    assert {record.finish_reason for record in world.scheduler.take_finished()} == {"error"}
    assert world.cache.capacity.usage == 0.0


def test_times():
    world = World(seqs=1)
    world.now = 10.0
    world.add("a", 4, 2, arrival_time=9.0)
    world.add("b", 4, 1, arrival_time=9.5)
    world.now = 11.0
    plan = world.scheduler.schedule()
    world.now = 12.0
    world.update(plan)
    world.now = 13.0
    world.finish()
    first, second = world.scheduler.take_finished()
    assert (first.queue_s, first.first_token_s, first.total_s) == (2.0, 3.0, 4.0)
    assert (second.queue_s, second.first_token_s, second.total_s) == (3.5, 3.5, 3.5)
