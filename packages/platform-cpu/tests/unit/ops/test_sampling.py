from __future__ import annotations

import numpy as np
import pytest
import torch

from kernelet.sampling.ops import Draw, Draws
from kernelet.sampling.ops import apply_token_mask as true_mask
from kernelet.sampling.ops import sample as truth
from kernelet_platform_cpu.native import native
from kernelet_platform_cpu.ops.sampling import apply_token_mask, sample

pytestmark = pytest.mark.skipif(native() is None, reason="platform-cpu has no kernels of its own here")

DTYPES = [torch.float32, torch.bfloat16, torch.float16, torch.float64]
SIZES = [1, 7, 64, 257, 4099]


def draws_of(rows):
    columns = [torch.tensor(column, dtype=torch.float64) for column in zip(*rows, strict=True)]
    return Draws(columns[0], columns[1].to(torch.int64), *columns[2:])


def some_draws(random, count, size):
    return [
        Draw(
            float(random.choice([0.0, 0.01, 0.7, 1.0, 2.0, 1e-300])),
            int(random.choice([-1, 0, 1, 5, 40, max(1, size // 2), size])),
            float(random.choice([1e-9, 0.5, 0.9, 0.99, 0.999999, 1.0])),
            float(random.choice([0.0, 0.05, 0.5, 1.0])),
            float(random.choice([0.0, random.random(), 1 - 2**-53])),
        )
        for _ in range(count)
    ]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", ["plain", "ties", "masked", "flat"])
def test_the_same_tokens_as_the_decomposition(dtype, size, kind):
    random = np.random.default_rng((size, len(kind)))
    values = random.normal(scale={"flat": 0.1}.get(kind, 3.0), size=(12, size))
    logits = torch.from_numpy(values.round() if kind == "ties" else values).to(dtype)
    if kind == "masked" and size > 3:
        logits[:, torch.from_numpy(random.permutation(size)[: size // 2])] = -torch.inf
    before = logits.clone()
    draws = draws_of(some_draws(random, 12, size))
    for given in (draws, None):
        (tokens, maxima), (expected, highest) = sample(logits, given), truth(logits, given)
        assert (tokens.dtype, maxima.dtype) == (torch.int64, torch.float64)
        assert torch.equal(maxima, highest)
        # flat rows have a border of two tokens everywhere, and weights are rounded
        assert (tokens != expected).sum() <= (1 if kind == "flat" and size > 1000 else 0)
    assert torch.equal(logits, before)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_row_has_the_same_token_alone_in_any_batch_and_widened(dtype):
    random = np.random.default_rng(8)
    logits = torch.from_numpy(random.normal(scale=2.0, size=(17, 3001))).to(dtype)
    rows = some_draws(random, 17, 3001)
    tokens, maxima = sample(logits, draws_of(rows))
    for index, row in enumerate(rows):
        alone = sample(logits[index : index + 1], draws_of([row]))
        assert (alone[0][0], alone[1][0]) == (tokens[index], maxima[index])
    if dtype.itemsize < 4:
        assert torch.equal(sample(logits.float(), draws_of(rows))[0], tokens)
    order = torch.from_numpy(random.permutation(17))
    assert torch.equal(sample(logits[order], draws_of([rows[i] for i in order]))[0], tokens[order])


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_maximum_shows_what_is_wrong_with_a_row(dtype):
    for size in (5, 64, 300):
        for place in (0, size // 2, size - 1):
            logits = torch.zeros(4, size, dtype=dtype)
            logits[0, place] = torch.nan
            logits[1, place] = torch.inf
            logits[2] = -torch.inf
            logits[3, place] = 1.0
            for draws in (None, draws_of([Draw(1.0, 0, 0.5, 0.0, 0.2)] * 4)):
                tokens, maxima = sample(logits, draws)
                assert maxima[0].isnan()
                assert maxima[1:].tolist() == [torch.inf, -torch.inf, 1.0]
                assert draws is not None or tokens[3] == place


def test_rows_at_a_distance_and_none():
    logits = torch.randn(6, 200)[:, 3:90]
    assert torch.equal(sample(logits, None)[0], logits.argmax(-1))
    assert len(sample(logits[:0], None)[0]) == 0


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [1, 31, 32, 33, 777])
def test_the_same_masked_rows_as_the_decomposition(dtype, size):
    random = np.random.default_rng(size)
    held = torch.from_numpy(random.normal(size=(9, size + 5))).to(dtype)
    logits = held[:, :size]  # rows lie further apart than they are wide
    logits[3, 0] = torch.nan
    words = random.integers(-(2**31), 2**31, size=(4, -(-size // 32))).astype(np.int32)
    words[2, 0], words[3, 0] = -1, 0
    masks, rows = torch.from_numpy(words), torch.tensor([8, 0, 3, 5])
    expected = true_mask(logits.clone(), masks, rows)
    beside = held[:, size:].clone()
    assert apply_token_mask(logits, masks, rows).data_ptr() == held.data_ptr()
    assert torch.equal(logits.isnan(), expected.isnan())
    assert torch.equal(logits.nan_to_num(7.0, neginf=-9.0), expected.nan_to_num(7.0, neginf=-9.0))
    assert torch.equal(held[:, size:], beside)


def test_masks_need_columns_side_by_side():
    with pytest.raises(ValueError, match="side by side"):
        apply_token_mask(torch.zeros(8, 4).T, torch.zeros(1, 1, dtype=torch.int32), torch.tensor([0]))
