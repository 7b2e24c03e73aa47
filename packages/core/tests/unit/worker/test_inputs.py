from __future__ import annotations

import numpy as np
import pytest
import torch

from kernelet.contracts.cache import FullAttentionSpec, SlidingWindowSpec
from kernelet.contracts.executor import NewRequest, ScheduledRequest, StepPlan
from kernelet.contracts.sampling import SamplerParams
from kernelet.sampling.sampler import Sampler
from kernelet.worker.batch import BatchState
from kernelet.worker.inputs import build_inputs

SIZES, WINDOW = (4, 3), 5
COMMON = {"page_bytes": 8, "num_kv_heads": 1, "head_size": 1, "dtype": "float32"}
SPECS = (
    FullAttentionSpec(block_size=SIZES[0], **COMMON),
    SlidingWindowSpec(block_size=SIZES[1], window=WINDOW, **COMMON),
)


@pytest.mark.parametrize("seed", range(10))
def test_against_a_loop_over_tokens(seed):
    random = np.random.default_rng(seed)
    batch = BatchState(SPECS, 8, 40, Sampler(100, torch.device("cpu")))
    requests, work = {}, []
    for index in range(int(random.integers(1, 8))):
        length = int(random.integers(1, 40))
        blocks = tuple(random.integers(1, 1000, -(-length // size)).tolist() for size in SIZES)
        tokens = random.integers(0, 100, length).tolist()
        requests[str(index)] = (tokens, blocks)
        new = NewRequest(
            request_id=str(index),
            token_ids=tokens,
            num_prompt_tokens=length,
            num_computed_tokens=0,
            block_ids=blocks,
            params=SamplerParams(seed=0),
        )
        batch.apply(StepPlan(step=index, new=(new,)))
        start = int(random.integers(0, length))
        entry = ScheduledRequest(
            request_id=str(index),
            num_computed_tokens=start,
            num_tokens=int(random.integers(1, length - start + 1)),
            sample=False,
        )
        work.append((batch[str(index)], entry))
    random.shuffle(work)
    arrays = build_inputs(batch, work)
    token_ids, positions, slots, starts = [], [], ([], []), [0]
    for held, entry in work:
        tokens, blocks = requests[held.request_id]
        for position in range(entry.num_computed_tokens, entry.num_computed_tokens + entry.num_tokens):
            token_ids.append(tokens[position])
            positions.append(position)
            for group, size in enumerate(SIZES):
                slots[group].append(blocks[group][position // size] * size + position % size)
        starts.append(len(token_ids))
    assert arrays.token_ids.tolist() == token_ids
    assert arrays.positions.tolist() == positions
    assert arrays.query_start_loc.tolist() == starts
    for group, made in enumerate(arrays.groups):
        assert made.slot_mapping.tolist() == slots[group]
        assert made.query_start_loc.tolist() == starts
        for row, (held, entry) in enumerate(work):
            end = entry.num_computed_tokens + entry.num_tokens
            assert made.seq_lens[row] == end
            needed = -(-end // SIZES[group])
            blocks = requests[held.request_id][1][group][:needed]
            dropped = max(0, entry.num_computed_tokens - WINDOW + 1) // SIZES[group] if group == 1 else 0
            assert made.block_table[row, :needed].tolist() == [0] * dropped + blocks[dropped:]
    assert [array.dtype for array in (made.query_start_loc, made.seq_lens, made.block_table)] == [np.int32] * 3
    assert arrays.token_ids.dtype == arrays.positions.dtype == made.slot_mapping.dtype == np.int64
