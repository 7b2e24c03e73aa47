from __future__ import annotations

import pytest
import torch
import triton
import triton.language as tl

from kernelet_ops_triton.device.elements import BYTES, E4M3FN, E5M2, NIBBLES, numbers, of_groups, stored


@triton.jit
def read(weight, out, outputs: tl.constexpr, inputs: tl.constexpr, element: tl.constexpr, origin: tl.constexpr,
         native: tl.constexpr):  # fmt: skip
    n, k = tl.arange(0, 4), 16 + tl.arange(0, 16)
    found = numbers(stored(weight, n, 16, outputs, inputs, element, origin, 16), element, native)
    fits = (n < outputs)[:, None] & (k < inputs)[None, :]
    tl.store(out + n[:, None] * inputs + k[None, :], found, mask=fits)


@triton.jit
def spread(values, out, outputs: tl.constexpr, columns: tl.constexpr, over_rows: tl.constexpr, group: tl.constexpr):
    n, k = tl.arange(0, 4), 16 + tl.arange(0, 16)
    found = of_groups(values, n, 16, outputs, columns, over_rows, group, 4, 16)
    tl.store(out + n[:, None] * 32 + k[None, :], found, mask=(n < outputs)[:, None])


@pytest.mark.parametrize("inputs", [32, 27])
@pytest.mark.parametrize("name", ["int8", "uint8", "int4", "e4m3fn", "e5m2"])
def test_elements_are_read(name, inputs):
    found, wanted = torch.zeros(3, inputs), torch.zeros(3, inputs)
    if name in {"int8", "uint8"}:
        weight = torch.randint(0, 256, (3, inputs)).to(getattr(torch, name))
        element, origin, exact = BYTES, 0, weight.float()
    elif name == "int4":
        codes = torch.randint(0, 16, (3, inputs + inputs % 2))
        weight = (codes[:, ::2] + 16 * codes[:, 1::2]).to(torch.uint8)
        element, origin, exact = NIBBLES, 8, codes[:, :inputs].float() - 8
    else:
        made = torch.randn(3, inputs).to({"e4m3fn": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}[name])
        weight, exact = made.view(torch.uint8), made.float()
        element, origin = {"e4m3fn": E4M3FN, "e5m2": E5M2}[name], 0
    wanted[:, 16:] = exact[:, 16:]
    for native in (False, True):
        read[1,](weight, found, outputs=3, inputs=inputs, element=element.value, origin=origin, native=native)
        assert torch.equal(found, wanted)


@pytest.mark.parametrize("group, columns", [(4, 8), (16, 2), (32, 1), (1 << 30, 1)])
@pytest.mark.parametrize("over_rows", [1, 2, 3])
def test_values_of_groups_are_spread(group, columns, over_rows):
    values, found = torch.randn(-(-3 // over_rows), columns), torch.zeros(3, 32)
    spread[1,](values, found, outputs=3, columns=columns, over_rows=over_rows, group=group)
    wanted = values.repeat_interleave(over_rows, 0)[:3].repeat_interleave(min(group, 32), 1)[:, :32]
    assert torch.equal(found[:, 16:], wanted[:, 16:])
