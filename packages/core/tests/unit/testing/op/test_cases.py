from __future__ import annotations

import torch

from kernelet.layers.activation import ACTIVATIONS
from kernelet.layers.ops import ELEMENTARY
from kernelet.testing.op.cases import elementary_cases, rounds_once
from kernelet.testing.op.draw import Draw

DRAW = Draw(dtype=torch.float16, rounded=torch.float16, rows=range(4))


def test_every_elementary_op_has_cases_of_its_own_name():
    cases = list(elementary_cases())
    assert {case.op for case in cases} == set(ELEMENTARY)
    assert len({str(case) for case in cases}) == len(cases)
    for op in ("activation", "act_and_mul"):
        assert {case.make(DRAW).arguments[1] for case in cases if case.op == op} == set(ACTIVATIONS)


def test_cases_are_what_they_say():
    by_words = {str(case): case for case in elementary_cases()}
    large = by_words["rms_norm (large values)"].make(DRAW).arguments[0]
    assert large.isfinite().all() and large.square().isinf().all()
    assert not by_words["rms_norm (heads, a view)"].make(DRAW).arguments[0].is_contiguous()
    assert not by_words["act_and_mul (a view)"].make(DRAW).arguments[0].is_contiguous()
    x, y, scale = by_words["add (scale 0.25, to a residual stream)"].make(DRAW).arguments
    assert (x.dtype, y.dtype, scale) == (torch.float32, torch.float16, 0.25)
    decomposed = by_words["add (scale 0.25)"].decomposed(DRAW)["result"]
    x, y, _ = by_words["add (scale 0.25)"].make(DRAW).arguments
    assert torch.equal(decomposed, (x + 0.25 * y))


def test_norms_of_16_bits_round_once():
    assert rounds_once("rms_norm", torch.bfloat16) and rounds_once("layer_norm", torch.float16)
    assert not rounds_once("rms_norm", torch.float32)
    assert not rounds_once("add", torch.bfloat16)
