from __future__ import annotations

import pytest
import torch

from kernelet.contracts.cache import FullAttentionSpec
from kernelet.contracts.executor import NewRequest, ScheduledRequest, StepPlan
from kernelet.contracts.sampling import SamplerParams
from kernelet.sampling.sampler import Sampler
from kernelet.worker.batch import BatchState


def spec(block_size):
    return FullAttentionSpec(block_size=block_size, page_bytes=8, num_kv_heads=1, head_size=1, dtype="float32")


@pytest.fixture
def batch():
    return BatchState([spec(4), spec(8)], 1, 20, Sampler(50, torch.device("cpu")))


def new(name, tokens, blocks=((1,), (1,)), **params):
    return NewRequest(
        request_id=name,
        token_ids=tokens,
        num_prompt_tokens=2,
        num_computed_tokens=0,
        block_ids=tuple(map(list, blocks)),
        params=SamplerParams(seed=0, **params),
    )


def scheduled(name, start, count, blocks=(), **values):
    return ScheduledRequest(
        request_id=name, num_tokens=count, num_computed_tokens=start, new_block_ids=blocks, **values
    )


def test_requests_come_grow_and_go(batch):
    batch.apply(StepPlan(step=1, new=(new("a", [5, 6, 7]),), scheduled=(scheduled("a", 0, 3),)))
    batch.append(batch["a"], 9)
    batch.apply(StepPlan(step=2, new=(new("b", [1, 2]),), scheduled=(scheduled("a", 3, 1, ([2], [])),)))
    a, b = batch["a"], batch["b"]
    assert batch.tokens[a.row, : a.num_tokens].tolist() == [5, 6, 7, 9]
    assert batch.tables[0].ids[a.row, :2].tolist() == [1, 2]
    assert batch.tables[1].ids[a.row, :2].tolist() == [1, 0]
    assert a.row != b.row
    batch.apply(StepPlan(step=3, finished=("a",), preempted=("b",)))
    assert len(batch) == 0
    batch.apply(StepPlan(step=4, new=(new("b", [1, 2, 3]),)))
    assert batch["b"].num_tokens == 3


def test_arrays_grow_beyond_the_expected_number(batch):
    batch.apply(StepPlan(step=1, new=tuple(new(str(i), [i, i + 1], ((i + 1,), (i + 1,))) for i in range(5))))
    rows = [batch[str(i)].row for i in range(5)]
    assert len(set(rows)) == 5
    assert batch.tokens[rows, 0].tolist() == [0, 1, 2, 3, 4]
    assert batch.tables[1].ids[rows, 0].tolist() == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    "entry, error",
    [
        (scheduled("a", 0, 4), "computes tokens 0 to 4 of a request with 3"),
        (scheduled("a", 0, 0, sample=False), "computes tokens 0 to 0"),
        (scheduled("a", 0, 2), "samples after token 2 of a request with 3"),
        (scheduled("a", 0, 3, drafts=(1,)), "draft tokens"),
        (scheduled("a", 0, 3, ([1] * 9, [])), "blocks were given"),
    ],
)
def test_what_does_not_fit_is_the_requests_error(batch, entry, error):
    batch.apply(StepPlan(step=1, new=(new("a", [5, 6, 7]),), scheduled=(entry,)))
    assert error in batch["a"].error


def test_a_request_that_cannot_be_taken_up_is_held_with_its_error(batch):
    batch.apply(StepPlan(step=1, new=(new("a", [5, 6], allowed_token_ids=(99,)), new("long", [1] * 30))))
    assert "outside the vocabulary" in batch["a"].error
    assert "cannot take up" in batch["long"].error
    batch.apply(StepPlan(step=2, finished=("a", "long")))
    assert len(batch) == 0


def test_the_same_request_twice_is_an_error_of_the_engine(batch):
    batch.apply(StepPlan(step=1, new=(new("a", [5, 6]),)))
    with pytest.raises(RuntimeError, match="twice"):
        batch.apply(StepPlan(step=2, new=(new("a", [5, 6]),)))
