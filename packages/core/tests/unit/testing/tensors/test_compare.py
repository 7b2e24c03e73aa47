from __future__ import annotations

import pytest
import torch

from kernelet.testing.tensors.compare import check_close, check_equal, check_unchanged, largest_error
from kernelet.testing.verdict import ConformanceError

ONE = torch.ones(2)


@pytest.mark.parametrize("value", [torch.nan, torch.inf, -torch.inf])
def test_what_is_not_finite_never_passes(value):
    bad = torch.tensor([1.0, value])
    assert largest_error(bad, bad) == torch.inf
    with pytest.raises(ConformanceError, match="wrong"):
        check_close(bad, bad, 1e9, "wrong")
    if value != value:
        with pytest.raises(ConformanceError, match=r"^wrong$"):
            check_equal(bad, bad, "wrong")


def test_errors_are_relative_for_large_values_and_absolute_for_small():
    assert largest_error(torch.tensor([99.0, 0.0]), torch.tensor([100.0, 0.5])) == pytest.approx(0.5 / 1.5)
    assert largest_error(torch.tensor([90.0]), torch.tensor([99.0])) == pytest.approx(0.09)
    check_close(ONE.half(), ONE.double(), 0.0, "dtypes may differ")


def test_shapes_must_be_equal():
    assert largest_error(ONE, ONE[:1]) == torch.inf
    with pytest.raises(ConformanceError, match=r"the shape is \[1, 2\], not \[2\]"):
        check_close(ONE[None], ONE, 1.0, "wrong")
    check_close(ONE[:0], ONE[:0], 0.0, "nothing is equal to nothing")


def test_equal_is_about_bits_and_dtype():
    check_equal(ONE, ONE.clone(), "x")
    for other in (ONE.double(), ONE + 1e-7):
        with pytest.raises(ConformanceError, match=r"^x$"):
            check_equal(ONE, other, "x")


def test_unchanged():
    given = torch.zeros(3)
    with check_unchanged("x", given, None):
        given + 1
    with pytest.raises(ConformanceError, match=r"^x$"), check_unchanged("x", given):
        given.add_(1)
