"""Which rows of a step belong to which expert, as tiles; found on the device, which nobody waits for."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from triton import cdiv


@dataclass(frozen=True, kw_only=True)
class Tiles:
    """Tiles of rows that are sorted by their experts.

    Attributes:
        table: int32 [tiles, 3]: expert, first row, and the row behind the last one.
        block_m: Rows of a tile at most.
        experts: int64 [rows]: the expert of each row.
    """

    table: Tensor
    block_m: int
    experts: Tensor


def tiles_of(experts: Tensor, num_experts: int, block_m: int) -> Tiles:
    """Cuts sorted rows; tiles that are not needed have no rows.

    Args:
        experts: int64 [rows], ascending.
        num_experts: Of the layer.
        block_m: Rows of a tile at most.
    """
    counts = torch.zeros(num_experts, dtype=torch.int64, device=experts.device)
    counts.scatter_add_(0, experts, torch.ones_like(experts))
    ends, needed = counts.cumsum(0), (counts + block_m - 1) // block_m
    tile_ends = needed.cumsum(0)
    most = min(len(experts), cdiv(len(experts), block_m) + num_experts)
    number = torch.arange(most, device=experts.device)
    expert = torch.searchsorted(tile_ends, number, right=True).clamp_max_(num_experts - 1)
    first = ends[expert] - counts[expert] + (number - tile_ends[expert] + needed[expert]) * block_m
    first = torch.where(number < tile_ends[-1], first, ends[expert])
    return Tiles(table=torch.stack((expert, first, ends[expert]), 1).to(torch.int32), block_m=block_m, experts=experts)
