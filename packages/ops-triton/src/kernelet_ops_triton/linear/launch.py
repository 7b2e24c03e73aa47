"""One launch of a product."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from kernelet_device_triton.launching import target_for
from kernelet_device_triton.targets import INTERPRETER
from kernelet_ops_triton import configurations
from kernelet_ops_triton.device.elements import DENSE, NO_ZEROS
from kernelet_ops_triton.device.gemm import AS_THEY_ARE, gemm
from kernelet_ops_triton.linear.tiles import Tiles
from kernelet_ops_triton.rows import rows_of


@dataclass(frozen=True, kw_only=True)
class Form:
    """How a weight is kept, as ``device.gemm`` takes it.

    Attributes:
        outputs: Of the weight.
        inputs: Of the weight.
        element: How an element is kept: of ``device.elements``.
        origin: What is subtracted from nibbles.
        columns: Groups of a row.
        over_rows: Outputs that share a scale.
        group: Inputs that share a scale; at least those of a step where inputs were rounded.
        zeros_are: Zero points, offsets or neither: of ``device.elements``.
        late: Scales do not depend on the input, and are multiplied with sums.
        inputs_are: What inputs were rounded to: of ``device.gemm``.
    """

    outputs: int
    inputs: int
    element: int = DENSE.value
    origin: int = 0
    columns: int = 1
    over_rows: int = 1
    group: int = configurations.WHOLE
    zeros_are: int = NO_ZEROS.value
    late: bool = False
    inputs_are: int = AS_THEY_ARE.value


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A weight [outputs, inputs], or one an expert.

    Attributes:
        form: How it is kept.
        weight: Elements.
        scales: Of groups.
        zeros: The same.
        permutation: int64 [inputs]: which input each column is multiplied with.
        input_scale: float32 [], of inputs that are quantized statically.
    """

    form: Form
    weight: Tensor
    scales: Tensor | None = None
    zeros: Tensor | None = None
    permutation: Tensor | None = None
    input_scale: Tensor | None = None

    def of_expert(self, expert: int) -> Prepared:
        """The weight of one expert."""
        scales, zeros, order = (
            None if one is None else one[expert] for one in (self.scales, self.zeros, self.permutation)
        )
        return Prepared(
            form=self.form,
            weight=self.weight[expert],
            scales=scales,
            zeros=zeros,
            permutation=order,
            input_scale=self.input_scale,
        )


def multiply(
    x: Tensor,
    prepared: Prepared,
    *,
    dtype: torch.dtype,
    bias: Tensor | None = None,
    row_scales: Tensor | None = None,
    tiles: Tiles | None = None,
    batch_invariant: bool = False,
) -> Tensor:
    """[rows, inputs] -> [rows, outputs] in ``dtype``, in which inputs came.

    Args:
        x: Inputs; or what they were rounded to.
        prepared: The weight; of all experts with ``tiles``.
        dtype: Of the result.
        bias: [outputs].
        row_scales: float32 [rows], of inputs that were rounded.
        tiles: Which rows belong to which expert.
        batch_invariant: A row has the same bits in every batch.
    """
    form, rows = prepared.form, len(x)
    out = torch.empty(rows, form.outputs, dtype=dtype, device=x.device)
    if not rows:
        return out
    target, x = target_for(x.device), rows_of(x)
    block_m = configurations.height(rows, batch_invariant=batch_invariant) if tiles is None else tiles.block_m
    rounded = row_scales is not None
    chosen = configurations.product(target, block_m, dtype.itemsize, form.group, rounded=rounded)
    number, programs = configurations.tiles(rows, form.outputs, chosen)
    if tiles is not None:
        number, programs = len(tiles.table), len(tiles.table) * (programs // number)
    gemm[programs,](
        x,
        prepared.weight,
        *(out if one is None else one for one in (prepared.scales, prepared.zeros, row_scales, bias)),
        out if tiles is None else tiles.table,
        out,
        rows,
        number,
        x.stride(0),
        has_bias=bias is not None,
        grouped=tiles is not None,
        native=target.converts_e4m3fn or target == INTERPRETER,
        num_warps=chosen.num_warps,
        num_stages=chosen.num_stages,
        **vars(form),
        **chosen.blocks,
    )
    return out
