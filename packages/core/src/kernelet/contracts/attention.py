"""Attention over a paged cache.

Contract: ``write_kv`` first, then ``forward`` reads keys and values as stored, also those written in the same step, so
that a result never depends on how a prompt was cut into steps.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from kernelet.contracts.kv_pages import KVPart, KVRegion
from kernelet.contracts.offer import Offer, Settings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor

    from kernelet.contracts.cache import FullAttentionSpec

ELEMENTS = MappingProxyType({"e4m3fn": "float8_e4m3fn", "e5m2": "float8_e5m2"})
"""What torch calls elements of a cache, where that is another name."""

MAX_TREE = 64
"""Tokens of the largest draft tree: the bits of a mask. Since attention 1.4."""


@dataclass(frozen=True, kw_only=True)
class AttentionSpec:
    """What one layer asks of its attention.

    Attributes:
        kind: Open id: ``"full"``, ``"sliding"``, ... Since attention 1.4: ``"mla"``, multi-head latent attention
            (arXiv 2405.04434) in its absorbed form, see ``kv_lora_rank``; ``"tree"``, which is full, or
            sliding with a window, over steps that may have draft trees, see ``AttentionBatch``.
        num_heads: Query heads of this rank.
        num_kv_heads: Key and value heads of this rank; divides ``num_heads``.
        head_size: Size of a head.
        dtype: Dtype of q, k, v, and of the cache unless ``cache_dtype`` says another.
        block_size: Tokens a block.
        scale: Factor of q.k before the softmax.
        window: A token sees itself and ``window - 1`` tokens before it; None: all before it.
        soft_cap: ``cap * tanh(scores / cap)`` on the scaled scores; None: no cap.
        sinks: A learned logit a head joins the softmax's denominator.
        cache_dtype: Elements of the cache: ``"e4m3fn"``, ``"int8"``; empty: those of ``dtype``. Since attention 1.2.
        cache_scales: What stored elements are multiplied by; not empty if and only if ``cache_dtype`` is not.
            ``"tensor"``: one number for keys and one for values, see ``set_cache_scales``. ``"token_head"``: float32
            for each token and head, the largest magnitude of its vector over the largest element (127, 448), so that
            what is stored depends on that vector alone; it is 0, and all elements too, where it would be below the
            normal numbers, and NaN where the vector is not finite. Since attention 1.2.
        kv_lora_rank: Of kind ``"mla"``: all heads share one vector a token (``num_kv_heads`` is 1), the latent followed
            by the rotated part of the key, ``head_size`` elements together. It is the key, and its first
            ``kv_lora_rank`` elements, the latent, are the value too; only the key is stored. 0: of another kind.
            Since attention 1.4.
    """

    kind: str
    num_heads: int
    num_kv_heads: int
    head_size: int
    dtype: str
    block_size: int
    scale: float
    window: int | None = None
    soft_cap: float | None = None
    sinks: bool = False
    cache_dtype: str = ""
    cache_scales: str = ""
    kv_lora_rank: int = 0

    @property
    def value_size(self) -> int:
        """Elements of a value, and of a head of the result. Since attention 1.4."""
        return self.kv_lora_rank or self.head_size

    @property
    def cache_form(self) -> str:
        """As offers name it, ``"e4m3fn:tensor"``; empty: the cache is of ``dtype``. Since attention 1.2."""
        return f"{self.cache_dtype}:{self.cache_scales}" if self.cache_dtype else ""

    @property
    def cache_parts(self) -> tuple[KVPart, ...]:
        """What the layer's cache holds of each token, as ``export_pages`` gives it. Since attention 1.3."""
        element = self.cache_dtype or self.dtype
        dtype, scales = ELEMENTS.get(element, element), self.cache_scales == "token_head"
        stored = ("key",) if self.kv_lora_rank else ("key", "value")
        parts = [KVPart(name=name, dtype=dtype, width=self.head_size) for name in stored]
        parts += [KVPart(name=f"{name}_scale", dtype="float32", width=1) for name in stored if scales]
        return tuple(parts)


@dataclass(frozen=True, kw_only=True)
class AttentionOffer(Offer):
    """An attention implementation. ``target`` is an ``Attention`` class.

    Attributes:
        kinds: Kinds of layer it serves.
        dtypes: Dtypes of q, k, v; empty means all.
        head_sizes: Head sizes; empty means all.
        block_size_multiple: Block sizes must be a multiple of this.
        soft_cap: Serves a soft cap.
        sinks: Serves sinks.
        required_features: Features that the platform must have.
        min_compute_capability: Smallest compute capability, where the platform has one.
        cache_dtypes: What it keeps keys and values in besides ``dtype``, with the scales: ``"e4m3fn:tensor"``,
            ``"int8:token_head"``. Since attention 1.2.
        max_compute_capability: Largest compute capability, where the platform has one. Since attention 1.4.
        requirements: Distributions that must be installed, as PEP 508 writes them (``"acme-kernels>=2.6"``); their
            metadata are read, and nothing is imported. Since attention 1.4.
    """

    kinds: frozenset[str]
    dtypes: tuple[str, ...] = ()
    head_sizes: tuple[int, ...] = ()
    block_size_multiple: int = 1
    soft_cap: bool = False
    sinks: bool = False
    required_features: frozenset[str] = frozenset()
    min_compute_capability: tuple[int, int] | None = None
    cache_dtypes: tuple[str, ...] = ()
    max_compute_capability: tuple[int, int] | None = None
    requirements: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class AttentionBatch:
    """One step's requests as one cache group sees them; numpy arrays on the host.

    Attributes:
        query_start_loc: int32 [requests + 1], offsets of each request's tokens in the step.
        seq_lens: int32 [requests], tokens of each request once this step is done.
        block_table: int32 [requests, blocks]; block i holds tokens [i * block_size, (i + 1) * block_size). Dropped
            blocks and padding are the null block.
        slot_mapping: int64 [tokens], ``block * block_size + offset`` where each token's key and value go.
        tree_sizes: int32 [requests], how many of a request's last tokens in this step are a draft tree, at most
            ``MAX_TREE``; 0: none. They follow all other tokens of the request and lie in the slots that follow, each
            after its ancestors. None: no request has one. Given to layers of kind ``"tree"`` only. Since attention 1.4.
        tree_masks: int64 [tokens], of a token of a tree: bit j says that it sees token j of the tree, which is it or an
            ancestor, and nothing else of it; the token sees all before the tree as well. A window counts along the
            branch: the position of a token is that of the tree's first slot plus its number of ancestors. What the
            masks of other tokens hold is ignored. Not None where ``tree_sizes`` is not. Since attention 1.4.
    """

    query_start_loc: NDArray[np.int32]
    seq_lens: NDArray[np.int32]
    block_table: NDArray[np.int32]
    slot_mapping: NDArray[np.int64]
    tree_sizes: NDArray[np.int32] | None = None
    tree_masks: NDArray[np.int64] | None = None


class Attention(ABC):
    """Attention of one layer. Layers of one group share the metadata of a step."""

    def __init__(self, spec: AttentionSpec, settings: Settings) -> None:
        self.spec = spec
        self.settings = settings

    @abstractmethod
    def allocate_cache(self, spec: FullAttentionSpec, num_blocks: int, device: Any) -> Any:
        """The layer's cache in this implementation's own order, zeroed; at most ``num_blocks * page_bytes`` bytes."""

    def copy_blocks(self, cache: Any, sources: Sequence[int], destinations: Sequence[int]) -> None:
        """Copies whole blocks inside the layer's cache; every source is read before any destination is written."""
        raise NotImplementedError(f"{type(self).__name__} does not copy blocks")

    def export_pages(self, cache: Any, block_ids: Sequence[int], start: int, end: int) -> tuple[Tensor, ...]:
        """What the cache holds of tokens [start, end) of a request; called on any thread, also while a step runs.

        Since attention 1.3.

        Args:
            cache: The layer's.
            block_ids: The request's block list; of blocks without one of these tokens anything may be said.
            start: First token, by its position in the request.
            end: One after the last.

        Returns:
            A copy of each of ``AttentionSpec.cache_parts``, [end - start, num_kv_heads, width], on the cache's device.
        """
        raise NotImplementedError(f"{type(self).__name__} gives no pages away")

    def import_pages(self, cache: Any, block_ids: Sequence[int], start: int, parts: Sequence[Tensor]) -> None:
        """Stores what ``export_pages`` gave, also of a cache with other blocks; what else is in the blocks stays.

        Called on any thread, also while a step runs that touches none of these tokens. Since attention 1.3.

        Args:
            cache: The layer's.
            block_ids: The request's block list.
            start: Position of the first token of the parts.
            parts: Each [tokens, num_kv_heads, width] in the dtype of ``AttentionSpec.cache_parts``.
        """
        raise NotImplementedError(f"{type(self).__name__} takes no pages in")

    def native_layout(self) -> str:
        """Names all that the bytes of a page depend on, besides what is stored: equal texts mean equal order of bytes.

        Empty: nobody else can read a page. Since attention 1.3.
        """
        return ""

    def regions(self, cache: Any) -> tuple[KVRegion, ...]:
        """Memory of the cache in which block after block lies, all of it together; empty: it does not lie so.

        Since attention 1.3.
        """
        return ()

    def set_cache_scales(self, key: float, value: float) -> None:
        """The scales of a layer whose spec has those of a tensor; called once, before the first step.

        What is stored is a number over its scale, in the dtype of sums (float32; float64 where the layer computes in
        that), rounded to float32, then to the nearest element, ties to even. What is too large becomes the largest
        element, and NaN stays NaN. Since attention 1.2.

        Args:
            key: What stored keys are multiplied by; finite and above 0.
            value: The same of values; of kind ``"mla"`` nothing, as there are none.
        """
        raise NotImplementedError(f"{type(self).__name__} keeps no cache with scales of a tensor")

    @abstractmethod
    def build_metadata(self, batch: AttentionBatch, device: Any) -> Any:
        """What ``write_kv`` and ``forward`` need of a step; called once a step and group, for its first layer."""

    @abstractmethod
    def write_kv(self, key: Tensor, value: Tensor, cache: Any, metadata: Any) -> None:
        """Stores [tokens, num_kv_heads, head_size] at the step's slots.

        Of kind ``"mla"`` the value is the key's first ``kv_lora_rank`` elements, and nobody reads it.
        """

    @abstractmethod
    def forward(self, query: Tensor, cache: Any, metadata: Any, sinks: Tensor | None = None) -> Tensor:
        """[tokens, num_heads, head_size] -> [tokens, num_heads, value_size], which are equal but of kind ``"mla"``.

        Args:
            sinks: [num_heads], where the spec has them.
        """
