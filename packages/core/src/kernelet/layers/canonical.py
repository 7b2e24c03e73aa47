"""Canonical tensors (``kernelet.contracts.op``): their form, a rank's share of them, and several below each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import torch
from torch import Tensor

from kernelet.contracts.op import WeightScheme
from kernelet.errors import UnsupportedModelError

OF_THE_INPUT = ("permutation", "input_scale")
"""Canonical tensors that all rows share."""

Canonical = Mapping[str, Tensor]
"""Tensors of a weight by their canonical names."""


def blocks(shape: tuple[int, ...], block: tuple[int, int]) -> tuple[int, ...]:
    """How many blocks a weight [out, in] has; a block of 0 is the whole axis."""
    return tuple(-(-size // over) if over else 1 for size, over in zip(shape, block, strict=True))


def levels(scheme: WeightScheme) -> dict[str, tuple[int, int]]:
    """Canonical tensors that have a value a block, and their blocks."""
    ends = [(f"_{index}" if index else "", level.block) for index, level in enumerate(scheme.scales)]
    named = {f"scales{end}": block for end, block in ends}
    if scheme.zero_point == "offset":
        return named | {f"offsets{end}": block for end, block in ends}
    return named | ({"zero_points": scheme.scales[0].block} if scheme.zero_point and scheme.scales else {})


def form(scheme: WeightScheme, shape: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the canonical tensors of a weight [out, in]."""
    found = {"weight": shape} | {name: blocks(shape, block) for name, block in levels(scheme).items()}
    found |= {"permutation": shape[1:]} if scheme.permuted else {}
    return found | ({"input_scale": ()} if scheme.activation == "static" else {})


def a_row(scheme: WeightScheme) -> WeightScheme:
    """The scheme of stacked weights: a scale of a whole column of blocks becomes one a row."""
    rows = [(level.block[0] or 1, level.block[1]) for level in scheme.scales]
    found = [msgspec.structs.replace(level, block=block) for level, block in zip(scheme.scales, rows, strict=True)]
    return msgspec.structs.replace(scheme, scales=tuple(found))


def share(
    name: str, scheme: WeightScheme, tensors: Canonical, rows: Tensor | None = None, columns: slice | None = None
) -> dict[str, Tensor]:
    """Some rows and columns of a weight.

    Args:
        name: Name of the module, for messages.
        scheme: How it is stored.
        tensors: Its canonical tensors.
        rows: int64 numbers of the rows, in any order; None: all as they are.
        columns: Range of the inputs; None: all.

    Raises:
        UnsupportedModelError: a block of elements that share a scale is cut, or permuted inputs are.
    """
    if columns is not None and scheme.permuted:
        raise UnsupportedModelError(
            f"{name}: its inputs are permuted (act-order), and cannot be shared by ranks; run it on one rank"
        )
    inputs = tensors["weight"].shape[1]
    found = dict(tensors)
    for key, (height, width) in {"weight": (1, 1), **levels(scheme)}.items():
        tensor = tensors[key]
        if rows is not None and height:
            tensor = tensor[_rows_of_blocks(name, rows, height)]
        if columns is not None and width:
            if columns.start % width or (columns.stop % width and columns.stop < inputs):
                raise UnsupportedModelError(
                    f"{name}: inputs {columns.start} to {columns.stop} cut a group of {width} that share a scale"
                )
            tensor = tensor[:, columns.start // width : -(-columns.stop // width)]
        found[key] = tensor.contiguous()
    return found


def _rows_of_blocks(name: str, rows: Tensor, height: int) -> Tensor:
    """Numbers of the blocks that rows are, ``height`` rows each; of the last there may be fewer."""
    if height == 1:
        return rows
    found = rows[::height] // height
    whole = (found.unsqueeze(1) * height + torch.arange(height)).flatten()
    if not torch.equal(whole[: len(rows)], rows):
        raise UnsupportedModelError(f"{name}: its outputs are moved or shared in pieces that cut groups of {height}")
    return found


def are_apart(pieces: Sequence[Canonical]) -> bool:
    """Whether weights of one input cannot be one, since each has an order or a scale of its own for it."""
    first = pieces[0]
    return any(not torch.equal(first[key], one[key]) for key in OF_THE_INPUT if key in first for one in pieces)


def in_rows(scheme: WeightScheme, piece: Canonical) -> dict[str, Tensor]:
    """Tensors of ``a_row`` of their scheme."""
    rows = len(piece["weight"])
    whole = {name for name, block in levels(scheme).items() if block[0] == 0}
    return {key: value.expand(rows, -1) if key in whole else value for key, value in piece.items()}


def stack(scheme: WeightScheme, pieces: Sequence[Canonical]) -> dict[str, Tensor]:
    """Puts the rows of several modules below each other; the result's scheme is ``a_row`` of theirs, if there are some.

    Args:
        scheme: How each is stored; blocks of several rows must fill all of them but the last.
        pieces: Their canonical tensors, which are not ``are_apart``.
    """
    if len(pieces) == 1:
        return dict(pieces[0])
    rows = [in_rows(scheme, piece) for piece in pieces]
    return {
        key: first if key in OF_THE_INPUT else torch.cat([piece[key] for piece in rows])
        for key, first in rows[0].items()
    }
