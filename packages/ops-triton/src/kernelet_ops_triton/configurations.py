"""The table (target, kernel, shape) -> configuration. What is compiled ahead of time walks the same table."""

from __future__ import annotations

from dataclasses import dataclass

from triton import cdiv, next_power_of_2

from kernelet_device_triton.targets import INTERPRETER, Target

WHOLE = 1 << 30
"""Inputs of a group that is all of them."""

MOST = 1 << 20
"""Elements of a tile, as the language allows."""


@dataclass(frozen=True, kw_only=True)
class Tile:
    """How an op over rows is cut and launched.

    Attributes:
        block_m: Rows of a program.
        block_n: Elements of each.
        num_warps: Warps of a program.
    """

    block_m: int
    block_n: int
    num_warps: int = 4

    @property
    def blocks(self) -> dict[str, int]:
        """As a kernel takes them."""
        return {"block_m": self.block_m, "block_n": self.block_n}


@dataclass(frozen=True, kw_only=True)
class Product:
    """How a product is cut and launched.

    Attributes:
        block_m: Rows of a tile.
        block_n: Outputs of a tile.
        block_k: Inputs of a step.
        num_warps: Warps of a program.
        num_stages: Steps whose loads are under way.
    """

    block_m: int
    block_n: int
    block_k: int
    num_warps: int = 4
    num_stages: int = 2

    @property
    def blocks(self) -> dict[str, int]:
        """As the kernel takes them."""
        return {"block_m": self.block_m, "block_n": self.block_n, "block_k": self.block_k}


def whole_rows(target: Target, size: int) -> Tile:
    """Of norms and rotation, which need a row at once."""
    block_n = max(16, next_power_of_2(size))
    if target == INTERPRETER:
        return _interpreted(block_n)
    num_warps = max(1, min(16, block_n // 512))
    return Tile(block_m=max(1, 512 // block_n), block_n=block_n, num_warps=num_warps)


def parts_of_rows(target: Target, size: int) -> Tile:
    """Of activations, whose elements stand alone."""
    if target == INTERPRETER:
        return _interpreted(max(16, next_power_of_2(size)))
    block_n = min(1024, max(16, next_power_of_2(size)))
    return Tile(block_m=1024 // block_n, block_n=block_n)


def _interpreted(block_n: int) -> Tile:
    """As many rows at once as there may be: a program costs more than its elements."""
    return Tile(block_m=max(1, min(64, MOST // block_n)), block_n=block_n)


def of_vocabulary(vocab: int) -> Tile:
    """Of sampling and masks: tokens of a step."""
    return Tile(block_m=1, block_n=min(1024, next_power_of_2(vocab)), num_warps=8)


def of_rounding(size: int) -> Tile:
    """Of rounding inputs."""
    return Tile(block_m=1, block_n=min(4096, next_power_of_2(size)), num_warps=4 if size <= 4096 else 8)


def height(rows: int, *, batch_invariant: bool) -> int:
    """Rows of a tile of a product.

    Args:
        rows: Of the step.
        batch_invariant: It may not depend on them.
    """
    return 16 if batch_invariant or rows <= 16 else 64 if rows <= 256 else 128


def product(target: Target, block_m: int, itemsize: int, group: int, *, rounded: bool) -> Product:
    """Of ``gemm``.

    Args:
        target: Where it runs.
        block_m: Of ``height``.
        itemsize: Bytes of an input, as it came.
        group: Inputs that share a scale.
        rounded: Inputs are rounded to 8 bits: each step has one scale.
    """
    few = target.max_registers <= 256 and target.backend == "hip"  # a large tile would spill
    block_k = 128 if block_m == 16 and not few and itemsize < 4 else 32 if few or itemsize == 4 else 64
    block_k = min(64 if target == INTERPRETER else block_k, group if rounded else WHOLE)
    if target == INTERPRETER:
        return Product(block_m=block_m, block_n=64, block_k=block_k)
    if itemsize == 4:  # no matrix unit computes it exactly: a large tile would spill
        return Product(block_m=min(block_m, 32), block_n=32, block_k=block_k)
    if block_m <= 64 or few:
        return Product(block_m=min(block_m, 64), block_n=64, block_k=block_k, num_warps=4, num_stages=3)
    return Product(block_m=128, block_n=128, block_k=block_k, num_warps=8, num_stages=3)


def tiles(rows: int, outputs: int, chosen: Product) -> tuple[int, int]:
    """Tiles of rows, and all of them."""
    number = cdiv(rows, chosen.block_m)
    return number, number * cdiv(outputs, chosen.block_n)
