from __future__ import annotations

import torch

from kernelet.layers.ops import COMPOSITE
from kernelet.testing.attention.reference import SlowAttention
from kernelet.testing.op.composite_cases import UnknownLayer, composite_cases
from kernelet.testing.op.draw import Draw

DRAW = Draw(dtype=torch.float32, rounded=torch.float32, rows=range(4))


def test_every_composite_op_has_cases_of_its_own_name():
    cases = list(composite_cases(SlowAttention))
    assert {case.op for case in cases} == set(COMPOSITE)
    assert len({str(case) for case in cases}) == len(cases)


def test_decompositions_agree_with_themselves_in_float64():
    for case in composite_cases(SlowAttention):
        found, exact = case.decomposed(DRAW), case.decomposed(DRAW.exact)
        assert found.keys() == exact.keys()
        for name, tensor in found.items():
            assert len(tensor) == 4
            torch.testing.assert_close(tensor.double(), exact[name], atol=1e-5, rtol=1e-5)


def test_the_attention_that_is_given_is_used():
    made = []

    class Mine(SlowAttention):
        def __init__(self, spec):
            super().__init__(spec)
            made.append(spec.dtype)

    for case in composite_cases(Mine):
        if case.op in {"attention", "qkv_rope_write"}:
            case.decomposed(DRAW)
            case.decomposed(DRAW.exact)
    assert set(made) == {"float32"}
    assert len(made) == 2 + 6


def test_a_layer_that_nobody_knows():
    assert UnknownLayer().compose(torch.tensor([[4.0, 0.0]]), None).tolist() == [[3.0, 4.0]]
