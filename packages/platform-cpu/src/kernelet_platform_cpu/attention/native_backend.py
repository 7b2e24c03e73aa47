"""Full and sliding-window attention over a paged cache, in the extension's kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kernelet.contracts.attention import AttentionBatch, AttentionSpec
from kernelet.contracts.cache import FullAttentionSpec
from kernelet.contracts.offer import Settings
from kernelet_platform_cpu.attention.forms import FORMS
from kernelet_platform_cpu.attention.paged import SCALE_BYTES, PagedAttention, zeroed_cache
from kernelet_platform_cpu.linear.packed import number_of
from kernelet_platform_cpu.native import required


class NativeStep:
    """A step for the kernels.

    Attributes:
        native: ``AttentionStep`` of the extension, which reads the arrays that are held here.
        tokens: Tokens of the step.
    """

    def __init__(self, batch: AttentionBatch) -> None:
        starts = _array(batch.query_start_loc, np.int32)
        lengths, blocks = _array(batch.seq_lens, np.int32), _array(batch.block_table, np.int32)
        slots = _array(batch.slot_mapping, np.int64)
        self._held = (starts, lengths, blocks, slots)
        self.tokens = len(slots)
        self.native: Any = required().AttentionStep(
            starts=starts.ctypes.data,
            lengths=lengths.ctypes.data,
            requests=len(lengths),
            blocks=blocks.ctypes.data,
            columns=blocks.shape[1] if blocks.ndim == 2 else 0,
            slots=slots.ctypes.data,
            tokens=len(slots),
        )


class NativePagedAttention(PagedAttention):
    """Softmax in blocks of keys that begin at multiples of a fixed position, so a token's bits depend on its own
    position and what it sees, not on chunks, tiles, other requests or threads.

    The cache of a layer is one tensor [block, kv_head, key or value, numbers]: keys as [head_size, block_size], which
    gives a score of each token without a sum over lanes, and values as [block_size, head_size]. Elements of 8 bits are
    bytes [block, kv_head, ...]: keys, values, then float32 scales of keys and of values, where each token has its own.

    Attributes:
        layer: ``AttentionLayer`` of the extension.
    """

    def __init__(self, spec: AttentionSpec, settings: Settings) -> None:
        super().__init__(spec, settings)
        self._module = required()
        self._dtype: torch.dtype = getattr(torch, spec.dtype)
        self._number = number_of(self._dtype)
        self._form = FORMS.index(spec.cache_form)
        self.layer: Any = self._layer(1.0, 1.0)

    def _layer(self, key_scale: float, value_scale: float) -> Any:
        spec = self.spec
        return self._module.AttentionLayer(
            heads=spec.num_heads,
            kv_heads=spec.num_kv_heads,
            size=spec.head_size,
            block_size=spec.block_size,
            window=spec.window or 0,
            scale=spec.scale,
            soft_cap=spec.soft_cap or 0.0,
            form=self._form,
            key_scale=key_scale,
            value_scale=value_scale,
        )

    def set_cache_scales(self, key: float, value: float) -> None:
        self.layer = self._layer(key, value)

    def allocate_cache(self, spec: FullAttentionSpec, num_blocks: int, device: Any) -> Tensor:
        heads, elements = spec.num_kv_heads, spec.block_size * spec.head_size
        if not self._form:
            return zeroed_cache(spec, num_blocks, heads, 2, elements, dtype=self._dtype)
        scales = spec.block_size * SCALE_BYTES if self.spec.cache_scales == "token_head" else 0
        return zeroed_cache(spec, num_blocks, heads, 2 * (elements + scales), dtype=torch.uint8)

    def parts_of(self, cache: Tensor) -> tuple[Tensor, ...]:
        tokens, size = self.spec.block_size, self.spec.head_size
        if not self._form:
            key, value = cache.unbind(2)
            return key.unflatten(2, (size, tokens)).permute(0, 3, 1, 2), _tokens(value, tokens)
        scales = tokens * SCALE_BYTES if self.spec.cache_scales == "token_head" else 0
        key, value, *rest = cache.split([tokens * size, tokens * size, *[scales] * (2 if scales else 0)], 2)
        return (
            key.unflatten(2, (size, tokens)).permute(0, 3, 1, 2),
            _tokens(value, tokens),
            *(_tokens(part, tokens) for part in rest),
        )

    def native_layout(self) -> str:
        return self.describe_page("kernelet-cpu native 1: [kv_head][key [size][token], value [token][size], scales]")

    def build_metadata(self, batch: AttentionBatch, device: Any) -> NativeStep:
        return NativeStep(batch)

    def write_kv(self, key: Tensor, value: Tensor, cache: Any, metadata: Any) -> None:
        step: NativeStep = metadata
        key, value = self._rows(key, step), self._rows(value, step)
        self._module.write_kv(
            self.layer,
            step.native,
            key.data_ptr(),
            key.stride(0),
            value.data_ptr(),
            value.stride(0),
            cache.data_ptr(),
            self._number,
        )

    def forward(self, query: Tensor, cache: Any, metadata: Any, sinks: Tensor | None = None) -> Tensor:
        step: NativeStep = metadata
        query = self._rows(query, step)
        out = torch.empty(query.shape, dtype=query.dtype)
        logits = None if sinks is None else sinks.to(query.dtype).contiguous()
        self._module.attention(
            self.layer,
            step.native,
            query.data_ptr(),
            query.stride(0),
            out.data_ptr(),
            cache.data_ptr(),
            0 if logits is None else logits.data_ptr(),
            self._number,
        )
        return out

    def _rows(self, x: Tensor, step: NativeStep) -> Tensor:
        """[tokens, heads, size] in which the heads of a token lie one after the other.

        Raises:
            ValueError: it is of another dtype, or the step has other tokens.
        """
        if x.dtype is not self._dtype or len(x) != step.tokens:
            raise ValueError(f"{len(x)} tokens in {x.dtype}; the step has {step.tokens}, the layer {self._dtype}")
        return x if x.stride(2) == 1 and x.stride(1) == self.spec.head_size else x.contiguous()


def _tokens(part: Tensor, tokens: int) -> Tensor:
    """[block, kv_head, token * width] -> [block, token, kv_head, width]."""
    rows: Tensor = part.unflatten(2, (tokens, -1))
    return rows.transpose(1, 2)


def _array(values: NDArray[Any], dtype: Any) -> NDArray[Any]:
    return np.ascontiguousarray(values, dtype=dtype)
