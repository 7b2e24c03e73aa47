from __future__ import annotations

import pytest

from kernelet.contracts.cache import CacheGroup, FullAttentionSpec, SlidingWindowSpec
from kernelet.contracts.executor import NewRequest, ScheduledRequest, StepPlan
from kernelet.contracts.sampling import SamplerParams
from kernelet.testing.null.batch import Batch, HeldRequest
from kernelet.testing.null.store import GroupStore, PlanError
from kernelet.testing.null.tokens import digests

COMMON = {"block_size": 4, "page_bytes": 64, "num_kv_heads": 1, "head_size": 1, "dtype": "float64"}


def make(window=None):
    spec = FullAttentionSpec(**COMMON) if window is None else SlidingWindowSpec(window=window, **COMMON)
    return Batch((GroupStore(CacheGroup(spec=spec, layers=("a",), num_blocks=20)),))


def new(name, tokens=6, blocks=(1, 2), **fields):
    return NewRequest(
        request_id=name,
        token_ids=list(range(tokens)),
        num_prompt_tokens=fields.pop("num_prompt_tokens", tokens),
        num_computed_tokens=fields.pop("num_computed_tokens", 0),
        block_ids=fields.pop("block_ids", (list(blocks),)),
        params=SamplerParams(seed=0),
        **fields,
    )


def entry(name, count=6, start=0, **fields):
    return ScheduledRequest(request_id=name, num_tokens=count, num_computed_tokens=start, **fields)


def test_a_held_request_grows():
    held = HeldRequest(data=new("a"), token_ids=[1, 2], tables=([1],), num_computed=0)
    held.append(3)
    assert held.digests == digests([1, 2, 3])


def test_a_correct_life():
    batch = make()
    plan = StepPlan(step=5, new=(new("a"),), scheduled=(entry("a"),))
    batch.apply(plan)
    batch.check_writers(plan)
    batch.held["a"].num_computed = 6
    for token in range(3):
        batch.held["a"].append(token)
    plan = StepPlan(step=6, scheduled=(entry("a", 3, 6, new_block_ids=([9],)),))
    batch.apply(plan)
    batch.check_writers(plan)
    assert batch.held["a"].tables == ([1, 2, 9],)
    batch.apply(StepPlan(step=7, preempted=("a",)))
    batch.apply(StepPlan(step=8, new=(new("a", epoch=1),), scheduled=(entry("a", epoch=1),)))
    batch.apply(StepPlan(step=9, finished=("a",), new=(new("a"),), scheduled=(entry("a"),)))
    assert list(batch.held) == ["a"]


@pytest.mark.parametrize(
    "plan, text",
    [
        (StepPlan(step=3), "step 3 follows step 0"),
        (StepPlan(step=1, finished=("b",)), "b is released"),
        (StepPlan(step=1, preempted=("a", "a")), "a is released"),
        (StepPlan(step=1, scheduled=(entry("a", 1, 6), entry("a", 1, 6))), "scheduled twice"),
        (StepPlan(step=1, new=(new("a"),), scheduled=(entry("a"),)), "the worker holds it"),
        (StepPlan(step=1, new=(new("b"),)), "not scheduled"),
        (StepPlan(step=1, new=(new("b", block_ids=([1], [2])),), scheduled=(entry("b"),)), "2 block lists for 1"),
        (StepPlan(step=1, new=(new("b", num_prompt_tokens=0),), scheduled=(entry("b"),)), "0 of them prompt"),
        (StepPlan(step=1, scheduled=(entry("b"),)), "does not hold it"),
        (StepPlan(step=1, scheduled=(entry("a", 1, 6, epoch=1),)), "in epoch 1"),
        (StepPlan(step=1, scheduled=(entry("a", 1, 5),)), "starts at 5, but 6"),
        (StepPlan(step=1, scheduled=(entry("a", 2, 6),)), "computes 2 up to 8 of 7"),
        (StepPlan(step=1, scheduled=(entry("a", 0, 6),)), "computes 0"),
        (StepPlan(step=1, new=(new("b"),), scheduled=(entry("b", 5),)), "samples at 5 of 6"),
        (StepPlan(step=1, new=(new("b", blocks=(3,)),), scheduled=(entry("b"),)), "1 blocks for 6 tokens"),
        (StepPlan(step=1, new=(new("b", blocks=(3, 4, 5)),), scheduled=(entry("b"),)), "3 blocks for 6 tokens"),
    ],
)
def test_wrong_plans(plan, text):
    batch = make()
    batch.apply(StepPlan(step=0, new=(new("a"),), scheduled=(entry("a"),)))
    batch.held["a"].num_computed = 6
    batch.held["a"].append(1)
    with pytest.raises(PlanError, match=text):
        batch.apply(plan)


def test_two_writers_of_a_block():
    plan = StepPlan(step=0, new=(new("a"), new("b", blocks=(3, 2))), scheduled=(entry("a"), entry("b")))
    batch = make()
    batch.apply(plan)
    with pytest.raises(PlanError, match="a and b both write block 2"):
        batch.check_writers(plan)


@pytest.mark.parametrize("window, wrong", [(None, True), (6, True), (2, False)])
def test_writing_what_another_request_needs(window, wrong):
    batch = make(window)
    batch.apply(StepPlan(step=0, new=(new("a"),), scheduled=(entry("a"),)))
    batch.held["a"].num_computed = 6
    plan = StepPlan(step=1, new=(new("b", blocks=(3, 1)),), scheduled=(entry("b"),))
    batch.apply(plan)
    if wrong:
        with pytest.raises(PlanError, match="b writes block 1, which a needs"):
            batch.check_writers(plan)
    else:
        batch.check_writers(plan)  # a sees positions 5 and 6 only, not the first block
