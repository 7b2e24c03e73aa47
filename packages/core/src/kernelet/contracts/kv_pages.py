"""Keys and values as they are stored: what they depend on, how their pages lie, and who may touch them.

Part of the contract ``kv``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import msgspec

from kernelet.contracts.cache import NULL_BLOCK

if TYPE_CHECKING:
    from torch import Tensor

CANONICAL = "canonical"
"""The order of pages that ``KVPages.read`` and ``write`` speak: each part [token, head, width]."""


class KVIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """What keys and values are a function of, besides tokens. Those of another identity are always a miss.

    Attributes:
        weights: Digest of the checkpoint.
        dtype: Dtype of the model.
        kv_cache_dtype: ``CacheConfig.dtype``.
        arithmetic: Digest of what computes every layer, and of the number of ranks.
    """

    weights: str
    dtype: str
    kv_cache_dtype: str
    arithmetic: str


class KVPart(msgspec.Struct, frozen=True, kw_only=True):
    """One tensor of a layer's cache: [token, num_kv_heads, width].

    Attributes:
        name: ``"key"``, ``"value"``, ``"key_scale"`` or ``"value_scale"``.
        dtype: Name of the torch dtype, ``"bfloat16"``, ``"float8_e4m3fn"``, ...
        width: Elements a head: the head size, or 1 for scales.
    """

    name: str
    dtype: str
    width: int


class KVLayout(msgspec.Struct, frozen=True, kw_only=True):
    """The pages of one cache group on one rank.

    Attributes:
        group: Index of the group.
        layers: Global names, in order.
        block_size: Tokens a block.
        num_blocks: Blocks, the null block included.
        num_kv_heads: Heads of this rank, which are ``[rank * num_kv_heads, ...)`` of all.
        parts: What each layer keeps.
        window: Tokens that are seen, of a sliding window; None: all.
        native: The attention's own order of a page, as ``Attention.native_layout`` says it; equal texts mean equal
            bytes. Empty: nobody but the attention can read it.
        rank: This rank.
        world_size: Ranks that share each layer.
    """

    group: int
    layers: tuple[str, ...]
    block_size: int
    num_blocks: int
    num_kv_heads: int
    parts: tuple[KVPart, ...]
    window: int | None = None
    native: str = ""
    rank: int = 0
    world_size: int = 1

    def blocks_of(self, block_ids: Sequence[int], start: int, end: int) -> tuple[int, ...]:
        """Those that hold tokens [start, end), of a request's block list in this group. Since kv 1.1."""
        return tuple(block_ids[start // self.block_size : -(-end // self.block_size)])

    def first_kept(self, block_ids: Sequence[int]) -> int:
        """The first token whose block was not dropped behind a sliding window. Since kv 1.1.

        Args:
            block_ids: A request's block list in this group; dropped are the first ones.
        """
        kept = (index for index, block in enumerate(block_ids) if block != NULL_BLOCK)
        return next(kept, len(block_ids)) * self.block_size


@dataclass(frozen=True, kw_only=True)
class KVRegion:
    """Memory in which the pages of one layer lie one after the other; block b is at ``address + b * block_bytes``.

    Attributes:
        address: Of block 0.
        block_bytes: Bytes of one block.
        num_blocks: Blocks.
        device: What torch calls the device, ``"cpu"``, ...
    """

    address: int
    block_bytes: int
    num_blocks: int
    device: str


class KVPages(Protocol):
    """The pages of one rank, for its ``WorkerSide``. ``read`` and ``write`` may be called on any thread.

    Tokens are positions in a request; ``block_ids`` is its whole block list in the group of the layer, so that a
    stretch of tokens may begin and end inside blocks.
    """

    @property
    def layouts(self) -> tuple[KVLayout, ...]:
        """One a group."""
        ...

    def read(self, layer: str, block_ids: Sequence[int], start: int, end: int) -> tuple[Tensor, ...]:
        """The parts of tokens [start, end): copies on the host, each [end - start, num_kv_heads, width]."""
        ...

    def write(self, transfer: int, layer: str, block_ids: Sequence[int], start: int, parts: Sequence[Tensor]) -> bool:
        """Stores parts from token ``start`` on; what else is in their blocks stays.

        Returns:
            False: the transfer was cancelled or has ended, and nothing was written.

        Raises:
            ValueError: parts of another shape or dtype than the layout says.
        """
        ...

    def regions(self, layer: str) -> tuple[KVRegion, ...]:
        """The memory of a layer, for transports that register it; empty: its pages do not lie so.

        What is written there directly, not with ``write``, is not held back when a transfer is cancelled:
        ``WorkerSide.cancel`` must do it.
        """
        ...
