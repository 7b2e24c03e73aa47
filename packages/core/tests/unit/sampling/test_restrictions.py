from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kernelet.contracts.sampling import SamplerParams
from kernelet.sampling.restrictions import Restrictions, unpack_mask

CPU = torch.device("cpu")


def apply(values, generated=(), mask=None, vocab_size=8):
    row = torch.arange(vocab_size, dtype=torch.float32)
    Restrictions(SamplerParams(seed=0, **values), vocab_size, CPU).apply(row, list(generated), mask)
    return row.tolist()


def open_tokens(row):
    return [token for token, value in enumerate(row) if value > -np.inf]


def test_bias():
    assert apply({"logit_bias": {1: 2.5, 7: -100.0}}) == [0, 3.5, 2, 3, 4, 5, 6, -93]


def test_allowed():
    row = apply({"allowed_token_ids": (2, 5)})
    assert open_tokens(row) == [2, 5]
    assert row[5] == 5


@pytest.mark.parametrize(
    "generated, closed", [([], [3]), ([1], [3, 2]), ([5, 1], [3, 2]), ([1, 5], [3]), ([4, 5], [3, 6]), ([5], [3])]
)
def test_bad_words(generated, closed):
    row = apply({"bad_words_token_ids": ((3,), (1, 2), (4, 5, 6))}, generated)
    assert open_tokens(row) == [token for token in range(8) if token not in closed]


WORDS = st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=4).map(tuple), max_size=12).map(tuple)


@given(words=WORDS, generated=st.lists(st.integers(0, 3), max_size=6))
def test_bad_words_are_those_that_would_be_complete(words, generated):
    row = apply({"bad_words_token_ids": words}, generated, vocab_size=4)
    ends = {token for token in range(4) for word in words if (*generated, token)[-len(word) :] == word}
    assert open_tokens(row) == [token for token in range(4) if token not in ends]


@pytest.mark.parametrize("count, closed", [(0, [6, 7]), (2, [6, 7]), (3, []), (9, [])])
def test_min_tokens(count, closed):
    values = {"min_tokens": 3, "suppressed_token_ids": (6, 7)}
    assert open_tokens(apply(values, [0] * count)) == [token for token in range(8) if token not in closed]
    assert Restrictions(SamplerParams(seed=0, **values), 8, CPU).active(count) == bool(closed)


def test_a_mask_that_must_end_wins_over_min_tokens():
    values = {"min_tokens": 3, "suppressed_token_ids": (6, 7)}
    only_stops = np.array([0, 0, 0, 0, 0, 0, 0, 1], dtype=np.bool_)
    assert open_tokens(apply(values, mask=only_stops)) == [7]
    others_too = np.array([0, 1, 0, 0, 0, 0, 0, 1], dtype=np.bool_)
    assert open_tokens(apply(values, mask=others_too)) == [1]


def test_everything_at_once():
    values = {"allowed_token_ids": (1, 2, 3, 4), "bad_words_token_ids": ((4,),), "logit_bias": {2: 5.0, 4: 100.0}}
    mask = np.array([1, 0, 1, 1, 1, 1, 1, 1], dtype=np.bool_)
    row = apply(values, mask=mask)
    assert open_tokens(row) == [2, 3]
    assert row[2] == 7


@pytest.mark.parametrize(
    "values",
    [
        {"logit_bias": {8: 1.0}},
        {"allowed_token_ids": (-1,)},
        {"bad_words_token_ids": ((9,),)},
        {"bad_words_token_ids": ((1, 9),)},
        {"suppressed_token_ids": (8,), "min_tokens": 1},
    ],
)
def test_ids_outside_the_vocabulary(values):
    with pytest.raises(ValueError, match="outside the vocabulary of 8"):
        Restrictions(SamplerParams(seed=0, **values), 8, CPU)


@pytest.mark.parametrize("vocab_size", [1, 31, 32, 33, 100])
def test_mask_bits(vocab_size):
    random = np.random.default_rng(vocab_size)
    wanted = random.random(vocab_size) < 0.5
    words = np.zeros(-(-vocab_size // 32), dtype=np.int64)
    for token in np.flatnonzero(wanted):
        words[token // 32] |= 1 << (token % 32)
    row = words.astype(np.uint32).view(np.int32).tobytes()
    assert unpack_mask(row, vocab_size).tolist() == wanted.tolist()
    with pytest.raises(ValueError, match="does not fit"):
        unpack_mask(row + b"0000", vocab_size)
