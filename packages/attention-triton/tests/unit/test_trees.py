from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelet.contracts.attention import AttentionBatch
from kernelet.testing.attention.trees import LARGEST, masks_of
from kernelet_attention_triton.trees import Trees

NOTHING = np.zeros((3, 2), dtype=np.int32)


def batch_of(requests):
    """Of (tokens before the step, tokens that are in no tree, parents of the tree)."""
    counts = [plain + len(parents) for _, plain, parents in requests]
    masks = [np.concatenate((np.full(plain, -1, dtype=np.int64), masks_of(parents))) for _, plain, parents in requests]
    return AttentionBatch(
        query_start_loc=np.cumsum([0, *counts], dtype=np.int32),
        seq_lens=np.array([before + count for (before, *_), count in zip(requests, counts, strict=True)], np.int32),
        block_table=NOTHING,
        slot_mapping=np.arange(sum(counts)),
        tree_sizes=np.array([len(parents) for *_, parents in requests], dtype=np.int32),
        tree_masks=np.concatenate(masks),
    )


@st.composite
def parents(draw):
    return [draw(st.integers(-1, token - 1)) for token in range(draw(st.integers(0, 9)))]


@given(
    requests=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3), parents()), min_size=1, max_size=4),
    window=st.none() | st.integers(1, 6),
)
def test_each_token_sees_what_is_near_on_its_branch(requests, window):
    found = Trees.of(batch_of(requests), window)
    if not any(tree for *_, tree in requests):
        assert found is None
        return
    token = 0
    for row, (before, plain, tree) in enumerate(requests):
        assert found.starts[row] == before + plain
        assert found.places[token : token + plain].tolist() == list(range(before, before + plain))
        token += plain
        for one in range(len(tree)):
            branch = [one]
            while tree[branch[-1]] >= 0:
                branch.append(tree[branch[-1]])
            near = branch if window is None else branch[:window]
            assert found.masks[token] == sum(1 << other for other in near)
            assert found.places[token] == before + plain + len(branch) - 1
            token += 1


def test_the_largest_tree_fills_a_mask():
    found = Trees.of(batch_of([(3, 1, LARGEST)]), None)
    assert found.masks[1:].tolist() == masks_of(LARGEST).tolist()
    assert found.masks[-1] < 0


@pytest.mark.parametrize(
    "requests, size, says", [([(3, 1, LARGEST)], 65, "at most 64"), ([(3, 1, (-1,)), (2, 2, ())], 3, "the 2 tokens")]
)
def test_a_tree_that_cannot_be(requests, size, says):
    batch = batch_of(requests)
    wrong = replace(batch, tree_sizes=np.array([size, size][: len(requests)]))
    with pytest.raises(ValueError, match=says):
        Trees.of(wrong, None)
