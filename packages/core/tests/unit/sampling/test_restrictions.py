from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kernelet.contracts.sampling import SamplerParams
from kernelet.sampling.restrictions import Restrictions, read_mask

CPU = torch.device("cpu")


def apply(values, generated=(), mask=None, vocab_size=8):
    row = torch.arange(vocab_size, dtype=torch.float32)
    given = None if mask is None else read_mask(bits(mask), vocab_size)
    Restrictions(SamplerParams(seed=0, **values), vocab_size, CPU).apply(row, list(generated), given)
    return row.tolist()


def bits(tokens, vocab_size=8):
    """A mask row as it comes from the engine."""
    words = [sum(1 << token % 32 for token in tokens if token // 32 == word) for word in range(-(-vocab_size // 32))]
    return np.array(words, dtype="<u4").tobytes()


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
    assert 7 in open_tokens(apply(values, mask=[7]))
    assert 7 in open_tokens(apply(values, mask=[7, 20]))  # beyond the vocabulary
    assert 7 not in open_tokens(apply(values, mask=[1, 7]))
    assert 7 not in open_tokens(apply(values))
    assert 7 in open_tokens(apply(values, [0, 0, 0], mask=[1, 7]))


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
def test_a_mask_row_as_it_came(vocab_size):
    tokens = [token for token in range(vocab_size) if token * token % 5 < 2]
    row = bits(tokens, vocab_size)
    found = read_mask(row, vocab_size)
    assert (found.dtype, found.tobytes()) == (np.int32, row)
    full = b"\xff" * len(row)
    assert read_mask(full, vocab_size).tobytes() == bits(range(vocab_size), vocab_size)
    with pytest.raises(ValueError, match="does not fit"):
        read_mask(row + b"0000", vocab_size)
