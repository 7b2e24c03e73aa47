"""Calls of a packed weight of the extension (``PackedLinear``, native/linear/linear.h) with tensors."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch import Tensor

from kernelet_platform_cpu.native import DTYPES, required


@cache
def number_of(dtype: torch.dtype) -> int:
    """How the extension calls a dtype."""
    return DTYPES.index(str(dtype).removeprefix("torch."))


def packed_linears(prepared: Any) -> tuple[Any, ...]:
    """The ``PackedLinear`` of each expert, or the one, that is all of what a weight kernel prepared; else none."""
    linears = tuple(getattr(prepared, "linears", ()))
    plain = getattr(prepared, "permutation", None) is None
    return linears if plain and all(isinstance(one, required().PackedLinear) for one in linears) else ()


def multiply(packed: Any, x: Tensor, bias: Tensor | None = None) -> Tensor:
    """``x @ weight.T + bias``: [tokens, in] -> [tokens, out] in the dtype of x.

    Raises:
        ValueError: shapes or dtypes do not belong together.
    """
    if x.dim() != 2 or x.shape[1] != packed.inputs:
        raise ValueError(f"x is {list(x.shape)}; this weight takes [tokens, {packed.inputs}]")
    if bias is not None and (bias.dtype is not x.dtype or bias.shape != (packed.outputs,)):
        raise ValueError(f"the bias is {bias.dtype} {list(bias.shape)}; it must be {x.dtype} [{packed.outputs}]")
    x = x.contiguous()
    bias = None if bias is None else bias.contiguous()
    y = torch.empty(len(x), packed.outputs, dtype=x.dtype)
    address = 0 if bias is None else bias.data_ptr()
    packed.apply(x.data_ptr(), len(x), y.data_ptr(), number_of(x.dtype), address)
    return y


def gather(packed: Any, ids: Tensor, dtype: torch.dtype) -> Tensor:
    """Rows of the weight: int64 ids [tokens] -> [tokens, in], in the dtype that the weight had.

    Raises:
        IndexError: an id is none.
    """
    ids = ids.to(torch.int64).contiguous()
    rows = torch.empty(*ids.shape, packed.inputs, dtype=dtype)
    packed.gather(ids.data_ptr(), ids.numel(), rows.data_ptr())
    return rows
