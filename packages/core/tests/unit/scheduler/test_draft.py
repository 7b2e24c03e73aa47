from __future__ import annotations

from kernelet.contracts.executor import NewRequest, ScheduledRequest, StepPlan
from kernelet.contracts.stats import StepStats
from kernelet.request.request import Request
from kernelet.scheduler.draft import StepDraft, StepInFlight
from kernelet.scheduler.token_times import TokenTimes
from kernelet.testing.null.harness import null_request


def make(name, prompt, max_tokens=4):
    return Request(data=null_request(name, prompt, max_tokens), arrival_index=0)


def test_nothing_to_do_or_tell():
    assert not StepDraft(3).says_something([])
    assert StepDraft(3).says_something(["a"])
    assert StepDraft(3, ["b"]).plan([]) == StepPlan(step=3, preempted=("b",))
    assert StepDraft(3).plan(["a"]) == StepPlan(step=3, finished=("a",))
    assert StepDraft(3, preempted=["b"]).plan([]) == StepPlan(step=3, preempted=("b",))


def test_a_prompt_in_two_chunks_and_a_token():
    request = make("r", [5, 6, 7])
    draft = StepDraft(0)
    draft.introduce(request, ([1], [2]))
    draft.schedule(request, 2)
    assert draft.plan([]) == StepPlan(
        step=0,
        new=(
            NewRequest(
                request_id="r",
                token_ids=[5, 6, 7],
                num_prompt_tokens=3,
                num_computed_tokens=0,
                block_ids=([1], [2]),
                params=request.data.params,
            ),
        ),
        scheduled=(ScheduledRequest(request_id="r", num_tokens=2, num_computed_tokens=0, sample=False),),
    )
    assert (request.num_computed_tokens, request.num_placeholders) == (2, 0)
    second = StepDraft(1)
    second.schedule(request, 1, ([3], []))
    assert second.scheduled[0][1] == ScheduledRequest(
        request_id="r", num_tokens=1, num_computed_tokens=2, new_block_ids=([3], []), sample=True
    )
    assert (request.num_computed_tokens, request.num_placeholders) == (3, 1)
    third = StepDraft(2)
    third.schedule(request, 1)
    assert third.scheduled[0][1].sample
    counted = [
        (d.counters.num_prefill_tokens, d.counters.num_decode_requests, d.counters.num_chunked)
        for d in (draft, second, third)
    ]
    assert counted == [(2, 0, 1), (1, 0, 0), (0, 1, 0)]


def test_a_request_that_got_tokens_is_told_anew():
    request = make("r", [5, 6, 7], max_tokens=9)
    draft = StepDraft(0)
    draft.introduce(request, ([1],))
    assert request.num_told == 3
    draft.schedule(request, 3)
    assert request.num_told == 4
    request.token_ids += [1, 2, 3]
    request.num_placeholders = 0
    second = StepDraft(1)
    second.tell_anew(request, ([1, 2],))
    second.schedule(request, 3)
    plan = second.plan([])
    assert plan.preempted == ("r",)
    assert (plan.new[0].token_ids, plan.new[0].num_computed_tokens) == ([5, 6, 7, 1, 2, 3], 3)
    assert (plan.new[0].block_ids, plan.new[0].epoch) == (([1, 2],), 0)
    assert plan.scheduled[0].sample
    assert request.num_told == 7
    assert (second.counters.num_prefill_tokens, second.counters.num_decode_requests) == (0, 1)
    assert second.counters.num_preempted == 0


def test_resumed_request_counts_as_prefill():
    request = make("r", [5, 6, 7])
    request.token_ids += [1, 2]
    request.epoch = 1
    draft = StepDraft(0)
    draft.introduce(request, ([1],))
    draft.schedule(request, 5)
    assert draft.new[0].token_ids == [5, 6, 7, 1, 2]
    assert draft.new[0].num_prompt_tokens == 3
    assert draft.scheduled[0][1].epoch == draft.new[0].epoch == 1
    assert draft.counters.num_prefill_tokens == 5


def test_the_worker_gets_its_own_token_list():
    request = make("r", [5])
    draft = StepDraft(0)
    draft.introduce(request, ([1],))
    request.token_ids.append(9)
    assert draft.new[0].token_ids == [5]


def test_stats_of_a_step():
    draft = StepDraft(4)
    draft.schedule(make("r", [1, 2, 3]), 3)
    draft.counters.num_preempted = 2
    step = StepInFlight(4, draft.scheduled, draft.counters)
    times = TokenTimes(1.5)
    times.note(draft.scheduled[0][0], 1, ended=False)
    remote = {"num_waiting_remote": 3}
    found = step.stats(num_running=1, num_waiting=5, times=times, usage=0.5, seconds=2.0, remote=remote)
    assert found == StepStats(
        step=4,
        num_running=1,
        num_waiting=5,
        num_prefill_tokens=3,
        num_decode_tokens=1,
        num_prefill_requests=1,
        num_preempted=2,
        cache_usage=0.5,
        seconds=2.0,
        num_done_prompt_tokens=3,
        first_token_s=(1.5,),
        num_waiting_remote=3,
    )


def test_what_is_pooled_is_never_sampled():
    request = Request(data=null_request("r", [5, 6, 7], 0, pooling="last"), arrival_index=0)
    draft = StepDraft(0)
    draft.introduce(request, ([1],))
    draft.schedule(request, 3)
    (new,), (scheduled,) = draft.plan([]).new, draft.plan([]).scheduled
    assert (new.pooling, scheduled.sample, request.num_placeholders) == ("last", False, 0)
