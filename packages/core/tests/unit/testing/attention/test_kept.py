"""The kit's definition of elements and scales against torch's own 8-bit floats, and plain arithmetic."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelet.testing.attention.kept import (
    FORMS,
    SlowKept,
    changes_of,
    encode,
    from_bits,
    kept,
    magnitudes,
    nearest,
    scales_of,
    to_bits,
)

ALL = torch.arange(256, dtype=torch.uint8)


def test_numbers_of_e4m3fn_are_torchs():
    theirs = ALL.view(torch.float8_e4m3fn).double()
    assert torch.equal(magnitudes(), theirs[:127])
    assert torch.equal(from_bits(ALL, "e4m3fn").nan_to_num(1000.0), theirs.nan_to_num(1000.0))
    plain = [bits for bits in range(256) if bits & 127 != 127]
    assert to_bits(theirs[plain], "e4m3fn").tolist() == plain
    assert to_bits(theirs, "e4m3fn")[[127]].tolist() == [127]
    assert torch.equal(to_bits(from_bits(ALL, "int8"), "int8"), ALL)


FLOATS = st.one_of(st.floats(width=32), st.floats(-0.125, 0.125, width=32), st.floats(-500, 500, width=32))


@settings(max_examples=300)
@given(st.lists(FLOATS, min_size=1, max_size=40))
def test_nearest_is_torchs_rounding(values):
    x = torch.tensor(values, dtype=torch.float32)
    theirs = x.clamp(-448, 448).to(torch.float8_e4m3fn).double()
    assert torch.equal(nearest(x, "e4m3fn").nan_to_num(1000.0), theirs.nan_to_num(1000.0))
    plain = x.nan_to_num(0.0)
    assert torch.equal(nearest(plain, "int8"), plain.double().round().clamp(-127, 127))


def test_scales_are_of_their_vector():
    x = torch.tensor([[1.0, -254.0], [0.0, 0.0], [1.0, torch.inf], [torch.nan, 1.0], [1e-44, 0.0]])
    assert scales_of(x, "int8").nan_to_num(-1.0).tolist() == [2.0, 0.0, -1.0, -1.0, 0.0]
    assert scales_of(torch.tensor([[896.0]]), "e4m3fn").tolist() == [2.0]


@pytest.mark.parametrize("form", FORMS)
def test_what_is_kept_is_close(layers, form):
    spec = layers.spec(dtype="float32", **changes_of(form))
    x = torch.randn(3, 2, 16, generator=torch.Generator().manual_seed(0))
    elements, scales = encode(x, spec, 0.02)
    assert torch.equal(kept(x, spec, 0.02), elements * scales[..., None].double())
    limit = 2**-4 * x.abs() + 1e-4 if form == "e4m3fn:tensor" else x.abs().amax(-1, keepdim=True) / 253
    assert ((kept(x, spec, 0.02) - x).abs() <= limit).all()
    assert torch.equal(kept(x, layers.spec(dtype="float32"), 0.02), x.double())


def test_forms_are_fields():
    assert changes_of("") == {}
    assert changes_of("int8:token_head") == {"cache_dtype": "int8", "cache_scales": "token_head"}


def test_without_a_form_it_is_the_plain_reference(layers):
    from kernelet.testing.attention.steps import cache_spec_of

    spec = layers.spec()
    cache = SlowKept(spec).allocate_cache(cache_spec_of(spec), 3, "cpu")
    assert cache.dtype is torch.float64
