"""Quantized weights."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from kernelet.contracts.op import Role, Support, WeightKernel, WeightScheme
from kernelet_device_triton.launching import target_for
from kernelet_ops_triton import configurations
from kernelet_ops_triton.device.rounding import round_rows
from kernelet_ops_triton.linear.launch import Prepared, multiply
from kernelet_ops_triton.linear.packing import packed, supports
from kernelet_ops_triton.linear.tiles import Tiles
from kernelet_ops_triton.rows import rows_of


class TritonQuantized(WeightKernel):
    """Dequantizes tiles of a weight while they are multiplied; with rounded inputs, multiplies what is stored."""

    @classmethod
    def supports(cls, role: Role, scheme: WeightScheme, dtype: str, shape: tuple[int, ...]) -> Support:
        return supports(scheme, dtype, shape)

    def prepare(self, weights: Mapping[str, Tensor]) -> Prepared:
        return packed(weights, self.scheme)

    def apply(self, x: Tensor, prepared: Prepared, bias: Tensor | None) -> Tensor:
        if prepared.permutation is not None:
            x = x.index_select(1, prepared.permutation)
        return self._multiply(x, prepared, bias)

    def apply_tiles(self, x: Tensor, prepared: Prepared, tiles: Tiles) -> Tensor:
        """[rows, in] -> [rows, out], each row with the weight of its expert."""
        if prepared.permutation is not None:
            x = x.gather(1, prepared.permutation[tiles.experts])
        return self._multiply(x, prepared, tiles=tiles)

    def apply_grouped(self, x: Tensor, prepared: Prepared, expert: int) -> Tensor:
        return self.apply(x, prepared.of_expert(expert), None)

    def _multiply(
        self, x: Tensor, prepared: Prepared, bias: Tensor | None = None, tiles: Tiles | None = None
    ) -> Tensor:
        dtype, row_scales = x.dtype, None
        if self.scheme.activation is not None:
            x, row_scales = rounded(x, self.scheme.activation_element == "int8", prepared.input_scale)
        return multiply(
            x,
            prepared,
            dtype=dtype,
            bias=bias,
            row_scales=row_scales,
            tiles=tiles,
            batch_invariant=bool(self.settings["batch_invariant"]),
        )


def rounded(x: Tensor, is_integer: bool, fixed: Tensor | None) -> tuple[Tensor, Tensor]:
    """Rows [rows, inputs] in int8, or as the bits of e4m3fn, and the float32 scale of each.

    Args:
        x: Inputs.
        is_integer: int8.
        fixed: float32 [], the scale of all rows; None: each has its own.
    """
    rows, size = x.shape
    out = torch.empty(rows, size, dtype=torch.int8 if is_integer else torch.uint8, device=x.device)
    scales = torch.empty(rows, dtype=torch.float32, device=x.device)
    if rows:
        x = rows_of(x)
        target_for(x.device)
        tile = configurations.of_rounding(size)
        round_rows[rows,](
            x,
            scales if fixed is None else fixed,
            out,
            scales,
            x.stride(0),
            size=size,
            is_static=fixed is not None,
            is_integer=is_integer,
            block=tile.block_n,
            num_warps=tile.num_warps,
        )
    return out, scales
