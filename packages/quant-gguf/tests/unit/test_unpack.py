from __future__ import annotations

import numpy as np
import pytest
import torch
from gguf_blocks import any_bytes, dequantized
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelet.testing.quantization.tensors import misfit
from kernelet_quant_gguf.types import BY_NAME
from kernelet_quant_gguf.unpack import unpack

QUANTIZED = [name for name, kind in BY_NAME.items() if kind.scheme is not None]
LOW = {"int": lambda bits: -(1 << bits - 1), "uint": lambda bits: 0}


def computed(found, scheme):
    """float32, in the order in which the format's package computes."""

    def spread(name):
        values = found[name].float().numpy()
        return values.repeat(found["weight"].shape[1] // values.shape[1], axis=1)

    def product(name):
        return spread(name) if len(scheme.scales) == 1 else spread(f"{name}_1") * spread(name)

    values = product("scales") * found["weight"].float().numpy()
    return values + product("offsets") if scheme.zero_point else values


@pytest.mark.parametrize("name", QUANTIZED)
@settings(max_examples=15, deadline=None)
@given(rows=st.integers(1, 5), blocks=st.integers(1, 4), seed=st.integers(0, 1 << 30))
def test_any_bytes_stand_for_what_the_formats_package_says(name, rows, blocks, seed):
    kind = BY_NAME[name]
    stored = any_bytes(name, rows, blocks * kind.block, seed)
    found = unpack(name, torch.from_numpy(stored.copy()), kind.nbytes)
    assert not misfit(found, kind.scheme, (rows, blocks * kind.block))
    with np.errstate(all="ignore"):
        assert np.array_equal(computed(found, kind.scheme), dequantized(name, stored), equal_nan=True)


@pytest.mark.parametrize("name", QUANTIZED)
def test_elements_use_the_whole_range_of_their_type(name):
    kind = BY_NAME[name]
    found = unpack(name, torch.from_numpy(any_bytes(name, 40, 4 * kind.block, 1)), kind.nbytes)["weight"]
    base = kind.scheme.element.rstrip("0123456789")
    low, bits = LOW[base](int(kind.scheme.element[len(base) :])), int(kind.scheme.element[len(base) :])
    assert (int(found.min()), int(found.max())) == (low, low + (1 << bits) - 1)


def test_what_is_given_stays_as_it_is():
    stored = torch.from_numpy(any_bytes("Q5_K", 2, 256, 3))
    before = stored.clone()
    unpack("Q5_K", stored, 176)["weight"].zero_()
    assert torch.equal(stored, before)
