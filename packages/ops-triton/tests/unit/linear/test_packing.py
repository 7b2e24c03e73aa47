from __future__ import annotations

import msgspec
import pytest
import torch

from kernelet.contracts.op import ScaleLevel, WeightScheme
from kernelet.testing.weight_kernel.reference import dequantize, no_reference
from kernelet.testing.weight_kernel.schemes import SCHEMES, make_weights
from kernelet_ops_triton.linear.packing import packed, supports

INT4 = WeightScheme(element="int4", scales=(ScaleLevel("float16", (1, 32)),))
SERVED = [scheme for scheme in SCHEMES if scheme.scales and supports(scheme, "bfloat16", (37, 192)).ok]


def change(**fields):
    return msgspec.structs.replace(INT4, **fields)


@pytest.mark.parametrize(
    "scheme, says",
    [
        (INT4, ""),
        (change(element="int9"), "integers of 2 to 8 bits"),
        (change(scales=()), "weights with scales"),
        (change(scales=(ScaleLevel("float16", (1, 24)),)), "a power of two inputs"),
        (change(scales=(ScaleLevel("float16", (1, 8)),)), "at least 16"),
        (change(scales=(ScaleLevel("float64", (1, 32)),)), "scales in float32"),
        (change(codebook=16), "no codebook"),
        (change(opaque="secret"), "canonical weights"),
        (change(zero_point="strange"), "zero points that are"),
        (change(activation="dynamic", activation_element="e5m2"), "inputs as they are"),
        (change(activation="dynamic", activation_element="e4m3fn"), "e4m3fn inputs with elements of that type"),
        (change(element="uint8", activation="dynamic", activation_element="int8"), "int8 inputs with signed"),
        (
            change(scales=(ScaleLevel("float16", (1, 16)),), activation="dynamic", activation_element="int8"),
            "rounded inputs with groups of 32",
        ),
    ],
)
def test_what_is_served(scheme, says):
    answer = supports(scheme, "bfloat16", (64, 192))
    assert answer.ok == (not says) and says in answer.reason


def test_nearly_all_that_formats_have_is_served():
    refused = [scheme.describe() for scheme in SCHEMES if scheme.scales and scheme not in SERVED]
    assert refused == []


@pytest.mark.parametrize("scheme", SERVED, ids=lambda scheme: scheme.describe())
def test_what_is_kept_is_the_weight(scheme):
    """Read back with plain indexing, element by element."""
    outputs, inputs = 37, 192
    weights = make_weights(scheme, (outputs, inputs), torch.bfloat16, seed=3)
    made = packed(weights, scheme)
    form = made.form
    row, column = torch.arange(outputs)[:, None], torch.arange(inputs)[None, :]
    if scheme.element in {"int4", "uint4"}:
        found = (made.weight[row, column // 2] >> (4 * (column % 2))) & 15
        found = found.double() - form.origin
    else:
        found = made.weight.view(weights["weight"].dtype)[row, column].double()
    place = (row // form.over_rows, (column // form.group).clamp_max(form.columns - 1))
    if scheme.zero_point in {"int", "float"}:
        found = found - made.zeros.double()[place]
    found = found * made.scales.double()[place]
    if scheme.zero_point == "offset":
        found = found + made.zeros.double()[place]
    if scheme.permuted:
        found = torch.empty_like(found).index_copy_(1, made.permutation, found)
    assert not no_reference(scheme)
    torch.testing.assert_close(found, dequantize(weights, scheme), rtol=1e-6, atol=1e-6)
