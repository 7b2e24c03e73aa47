"""What a layer keeps between steps, and how layers share it in groups.

Layers with equal specs form a group. A group has its own block table; a request has one list of block ids per group.
Block 0 of every group is the null block: never given out, used for padding and for blocks that were dropped.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from kernelet.contracts.offer import Offer, Settings

NULL_BLOCK = 0
"""Block id that is never given out."""


class CacheSpec(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """State of one layer. Equal specs share a group.

    Attributes:
        block_size: Tokens a block.
        page_bytes: Bytes of one block of one layer.
    """

    block_size: int
    page_bytes: int


class FullAttentionSpec(CacheSpec, frozen=True, tag="full", kw_only=True):
    """Keys and values of all tokens: two tensors [block, token, num_kv_heads, head_size] of ``dtype``.

    ``dtype`` is that of the layer, or the ``cache_dtype`` of its ``AttentionSpec``; ``page_bytes`` has the scales too.
    """

    num_kv_heads: int
    head_size: int
    dtype: str


class SlidingWindowSpec(FullAttentionSpec, frozen=True, tag="sliding_window", kw_only=True):
    """Keys and values of the last ``window`` tokens (a token sees itself and ``window - 1`` before it)."""

    window: int


class MLAAttentionSpec(FullAttentionSpec, frozen=True, tag="mla", kw_only=True):
    """One vector of all tokens that all heads share: one tensor [block, token, 1, head_size] of ``dtype``.

    Its first ``kv_lora_rank`` elements are the latent, the others the rotated part of the key. Since cache 2.2.
    """

    kv_lora_rank: int


LayerCacheSpec = FullAttentionSpec | SlidingWindowSpec | MLAAttentionSpec
"""Those that the core manages. Since cache 2.2."""


class CacheGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Layers that share a spec, and the number of blocks each of them has (the null block included)."""

    spec: LayerCacheSpec
    layers: tuple[str, ...]
    num_blocks: int = 0

    @property
    def bytes_per_block(self) -> int:
        """Bytes of one block over all layers of the group."""
        return self.spec.page_bytes * len(self.layers)


class CacheConfigPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The groups of an engine; made once from all workers' specs and their memory."""

    groups: tuple[CacheGroup, ...]


@dataclass(frozen=True, kw_only=True)
class CacheSpecOffer(Offer):
    """A further kind of per-layer state. ``target`` is its ``GroupManager`` class.

    Attributes:
        kind: The tag of the ``CacheSpec`` subclass that it manages.
    """

    kind: str


@dataclass(frozen=True, kw_only=True)
class CachePolicyOffer(Offer):
    """An eviction policy for blocks that only the prefix index holds. ``target`` is an ``EvictionPolicy``."""


class EvictionPolicy(ABC):
    """Order in which unreferenced blocks that still hold a prefix are given up. One instance a block pool."""

    def __init__(self, settings: Settings, num_blocks: int) -> None:
        """An empty policy.

        Args:
            settings: The plugin's options.
            num_blocks: Blocks of the pool, the null block included: block ids are 1 to ``num_blocks - 1``.
        """
        self.settings = settings
        self.num_blocks = num_blocks

    def assign(self, block_id: int, content: bytes) -> None:
        """What the block holds from now on, by name: before it is first added. Since cache 2.1.

        For policies that remember what they gave up: content that comes back has the same name.
        """

    @abstractmethod
    def add(self, block_id: int) -> None:
        """The block's last reference went away; it may now be evicted."""

    @abstractmethod
    def remove(self, block_id: int) -> None:
        """The block is in use again, or lost its prefix.

        Raises:
            KeyError: if it is not held.
        """

    @abstractmethod
    def evict(self) -> int:
        """Gives up one block and returns its id.

        Raises:
            IndexError: if nothing can be evicted.
        """

    @abstractmethod
    def __len__(self) -> int:
        """Number of blocks that could be evicted."""


class GroupManager(ABC):
    """Decides, for one group, which blocks a request needs, may drop, and can take from the prefix index.

    All methods are pure functions of their arguments.
    """

    @abstractmethod
    def __init__(self, spec: CacheSpec) -> None: ...

    @abstractmethod
    def num_blocks(self, num_tokens: int) -> int:
        """Length of the block list of a request with so many tokens, dropped blocks included."""

    @abstractmethod
    def first_kept_block(self, num_computed_tokens: int) -> int:
        """Index of the first block that attention still needs for the token after ``num_computed_tokens``."""

    @abstractmethod
    def longest_hit(self, present: Sequence[bool], max_blocks: int) -> int:
        """Largest n <= max_blocks such that all blocks needed to go on after the first n blocks are present.

        Args:
            present: For each full block of the prompt, whether the prefix index holds it for this group.
        """

    @abstractmethod
    def peak_blocks(self, num_tokens: int, chunk: int) -> int:
        """Most blocks that a request of so many tokens holds at once when computed in chunks of ``chunk`` tokens."""
