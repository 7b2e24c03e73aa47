from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from kernelet.contracts import executor
from kernelet.contracts.sampling import SamplerParams, TokenLogprobs
from kernelet.contracts.steps import (
    BlockCopy,
    NewRequest,
    SampledRequest,
    SamplePlan,
    ScheduledRequest,
    StepPlan,
    StepResult,
)

ids = st.lists(st.integers(0, 2**31 - 1), max_size=5)
blocks = st.lists(ids, max_size=2).map(tuple)
names = st.text(max_size=8)

new_requests = st.builds(
    NewRequest,
    request_id=names,
    token_ids=ids,
    num_prompt_tokens=st.integers(0, 10),
    num_computed_tokens=st.integers(0, 10),
    block_ids=blocks,
    params=st.builds(SamplerParams, seed=st.integers(0, 2**63 - 1), temperature=st.floats(0, 2)),
    epoch=st.integers(0, 3),
)
scheduled = st.builds(
    ScheduledRequest,
    request_id=names,
    num_tokens=st.integers(1, 9),
    num_computed_tokens=st.integers(0, 9),
    new_block_ids=blocks,
    sample=st.booleans(),
    drafts=ids.map(tuple),
)
plans = st.builds(
    StepPlan,
    step=st.integers(0, 2**40),
    new=st.lists(new_requests, max_size=2).map(tuple),
    scheduled=st.lists(scheduled, max_size=2).map(tuple),
    finished=st.lists(names, max_size=2).map(tuple),
    preempted=st.lists(names, max_size=2).map(tuple),
    copies=st.lists(st.builds(BlockCopy, st.integers(0, 3), st.integers(1, 9), st.integers(1, 9)), max_size=2).map(
        tuple
    ),
    extensions=st.dictionaries(names, st.binary(max_size=8), max_size=2),
)
results = st.builds(
    StepResult,
    step=st.integers(0, 9),
    requests=st.lists(
        st.builds(
            SampledRequest,
            request_id=names,
            token_ids=ids,
            logprobs=st.none() | st.just([TokenLogprobs([1, 2], [-0.5, -1.0], [1, 2])]),
            error=st.none() | names,
        ),
        max_size=2,
    ).map(tuple),
    extensions=st.dictionaries(names, st.lists(st.binary(max_size=4), max_size=2), max_size=2),
)


@given(plans)
def test_plans_travel(plan):
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(plan), type=StepPlan) == plan


@given(results)
def test_results_travel(result):
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(result), type=StepResult) == result


def test_an_empty_step_is_a_step():
    plan = StepPlan(step=3)
    assert (plan.new, plan.scheduled, plan.finished, plan.preempted, plan.copies, plan.extensions) == (
        (),
        (),
        (),
        (),
        (),
        {},
    )
    assert SamplePlan(step=3).mask_rows == {}


def test_defaults_are_not_shared():
    assert StepPlan(step=1).extensions is not StepPlan(step=2).extensions


def test_they_are_part_of_the_contract_of_executors():
    assert executor.StepPlan is StepPlan
    assert {"BlockCopy", "NewRequest", "SamplePlan", "StepPlan", "StepResult", "Worker"} <= set(executor.__all__)
