"""The table (target, kernel, shape) -> configuration. What is compiled ahead of time walks the same table."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kernelet.contracts.attention import AttentionSpec
from kernelet_device_triton.targets import INTERPRETER, Target

SHORT = 8
"""Requests with at most so many tokens in a step are decoded, in small tiles."""


@dataclass(frozen=True, kw_only=True)
class LayerShape:
    """What of a layer a configuration depends on.

    Attributes:
        head_size: Of queries and keys.
        value_size: Of values; smaller than ``head_size`` where layers are latent.
        group: Heads that share a key head.
        itemsize: Bytes of a query's element.
        is_latent: A value is the beginning of its key.
        cache_dtype: Elements of the cache, where they are of another dtype.
    """

    head_size: int
    value_size: int
    group: int
    itemsize: int
    is_latent: bool = False
    cache_dtype: str = ""

    @classmethod
    def of(cls, spec: AttentionSpec, itemsize: int) -> LayerShape:
        """That of a layer."""
        return cls(
            head_size=spec.head_size,
            value_size=spec.value_size,
            group=spec.num_heads // spec.num_kv_heads,
            itemsize=itemsize,
            is_latent=bool(spec.kv_lora_rank),
            cache_dtype=spec.cache_dtype,
        )

    @property
    def block_d(self) -> int:
        """Columns of a tile of values."""
        return padded(self.value_size)

    @property
    def block_r(self) -> int:
        """Columns of a tile of what a key has beyond its value; 0: it has nothing."""
        return padded(self.head_size - self.value_size) if self.head_size > self.value_size else 0


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """How a kernel is cut and launched.

    Attributes:
        block_m: Rows of a tile: queries times heads.
        block_n: Keys of a step.
        share: Heads of a tile, of those that share a key head.
        num_warps: Warps of a program.
        num_stages: Steps whose loads are under way.
    """

    block_m: int
    block_n: int
    share: int
    num_warps: int = 4
    num_stages: int = 2

    @property
    def queries(self) -> int:
        """Of a tile."""
        return self.block_m // self.share


def power_of_two(number: int) -> int:
    """The least that is not below the number."""
    return 1 << (number - 1).bit_length()


def padded(size: int) -> int:
    """Columns of a tile of vectors: matrix units want 16 at least."""
    return max(16, power_of_two(size))


def why_not(target: Target, shape: LayerShape) -> str:
    """Why a target cannot run a layer's kernels; empty if it can."""
    if shape.is_latent and is_rdna(target):
        return f"the matrix unit of {target.name} has no registers for the vectors of latent layers"
    return ""


def is_rdna(target: Target) -> bool:
    """Its matrix unit wants what it multiplies twice, in registers: tiles are small, and loads are not ahead."""
    return target.backend == "hip" and target.warp_size == 32


def decode(target: Target, shape: LayerShape) -> Configuration:
    """Of ``attend`` over few queries, and of all in batch-invariant mode."""
    share = min(shape.group, 16 if shape.is_latent else 64)
    block_m = max(16, power_of_two(share))
    if target == INTERPRETER:
        return Configuration(block_m=block_m, block_n=32, share=share)
    wide = (shape.block_d + shape.block_r) * shape.itemsize
    if shape.is_latent and target.backend == "cuda" and shape.itemsize == 2:
        return Configuration(block_m=block_m, block_n=32, share=share, num_warps=8)
    if is_rdna(target):
        block_n = 32 if wide <= 256 and shape.cache_dtype != "int8" else 16
        return Configuration(block_m=block_m, block_n=block_n, share=share, num_stages=1)
    block_n = 64 if wide <= 256 else 32 if wide <= 512 else 16
    return Configuration(block_m=block_m, block_n=block_n, share=share)


def prefill(target: Target, shape: LayerShape) -> Configuration:
    """Of ``attend`` over many queries."""
    few = decode(target, shape)
    if target == INTERPRETER:
        return replace(few, block_m=max(32, few.block_m))
    if shape.itemsize == 4:  # no matrix unit computes it exactly: a large tile would spill thousands of bytes
        return few
    if shape.is_latent and target.backend == "cuda" and target.shared_bytes > 1 << 17:
        return replace(few, block_m=64, block_n=16)
    is_small = shape.block_d > 128 or is_rdna(target)
    many = replace(few, block_m=max(32 if is_small else 64, few.block_m))
    of_warps = target.backend == "cuda" and len(target.matrix) == 1  # one warp multiplies, not four together
    return replace(many, num_warps=8) if of_warps and not is_small and shape.block_d == 128 else many


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
