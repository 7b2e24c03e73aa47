"""The table (target, kernel, shape) -> configuration. What is compiled ahead of time walks the same table."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kernelet_device_triton.targets import INTERPRETER, Target

SHORT = 8
"""Requests with at most so many tokens in a step are decoded: their keys are split over programs."""


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """How a kernel is cut and launched.

    Attributes:
        block_m: Rows of a tile: queries times the heads that share a key head.
        block_n: Keys of a step.
        num_warps: Warps of a program.
        num_stages: Steps whose loads are under way.
    """

    block_m: int
    block_n: int
    num_warps: int = 4
    num_stages: int = 2


def power_of_two(number: int) -> int:
    """The least that is not below the number."""
    return 1 << (number - 1).bit_length()


def padded(head_size: int) -> int:
    """Columns of a tile of vectors: matrix units want 16 at least."""
    return max(16, power_of_two(head_size))


def decode(target: Target, head_size: int, itemsize: int, group: int) -> Configuration:
    """Of ``attend`` over few queries, and of all in batch-invariant mode.

    Args:
        target: Where it runs.
        head_size: Of a head.
        itemsize: Bytes of a query's element.
        group: Heads that share a key head.
    """
    block_m = max(16, power_of_two(group))
    if target == INTERPRETER:
        return Configuration(block_m=block_m, block_n=16)
    wide = padded(head_size) * itemsize
    block_n = 64 if wide <= 256 else 32 if wide <= 512 else 16
    return Configuration(block_m=block_m, block_n=block_n, num_warps=4, num_stages=2)


def prefill(target: Target, head_size: int, itemsize: int, group: int) -> Configuration:
    """Of ``attend`` over many queries; arguments are those of ``decode``."""
    if target == INTERPRETER:
        return replace(decode(target, head_size, itemsize, group), block_m=max(32, power_of_two(group)))
    if itemsize == 4:  # no matrix unit computes it exactly: a large tile would spill thousands of bytes
        return decode(target, head_size, itemsize, group)
    block_m = max(64 if padded(head_size) <= 128 else 32, power_of_two(group))
    return replace(decode(target, head_size, itemsize, group), block_m=block_m)


def rows_of_write(target: Target, head_size: int) -> int:
    """Vectors that a program of ``write_kv`` stores."""
    return 64 if target == INTERPRETER else max(1, 2048 // padded(head_size))


def segment_of(longest: int, programs: int, wanted: int, block_n: int, least: int) -> int:
    """Keys of a segment, such that there are about as many programs as wanted.

    Args:
        longest: Keys that a tile may see.
        programs: Tiles times key heads.
        wanted: Programs that keep the device busy.
        block_n: Divides it.
        least: No smaller one.
    """
    parts = max(1, wanted // max(1, programs))
    return -(-max(least, -(-longest // parts)) // block_n) * block_n
