"""Stand-ins of the libraries where there is no device: their signatures, their checks, and what they must compute.

Signatures are those of https://github.com/Dao-AILab/flash-attention: ``flash_attn/flash_attn_interface.py``,
``hopper/flash_attn_interface.py`` and ``flash_attn/cute/interface.py``; checks are those of the C++ behind them. An
argument that an adapter must leave as it is raises where it is not.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor

Window = tuple[int | None, int | None]


Truth = Callable[..., Tensor]
"""``kernelet.testing.attention.varlen.attend_varlen``."""


def held(condition: object, sentence: str) -> None:
    """Raises what a library raises.

    Raises:
        RuntimeError: with the sentence.
    """
    if not condition:
        raise RuntimeError(sentence)


def _pages(query: Tensor, key: Tensor, value: Tensor, table: Tensor | None, lengths: Tensor) -> list[list[int]]:
    """Checks what all generations ask for, and returns the pages of each request."""
    held(table is not None, "there is no block table, so keys are not paged")
    assert table is not None
    held(query.dtype in {torch.float16, torch.bfloat16}, "FlashAttention only support fp16 and bf16 data type")
    held(query.dtype == key.dtype == value.dtype, "query, key and value must have the same dtype")
    held(key.shape == value.shape and key.ndim == 4, "pages are [num_blocks, page_size, num_heads_k, head_size]")
    held(all(part.stride(-1) == 1 for part in (query, key, value)), "input must have contiguous last dimension")
    held(key.shape[-1] == query.shape[-1], "heads of queries and of keys must have one size")
    held(query.shape[-2] % key.shape[-2] == 0, "Number of heads in key/value must divide number of heads in query")
    held(table.dtype == torch.int32 and table.stride(-1) == 1, "block_table must have dtype torch.int32")
    held(lengths.dtype == torch.int32 and lengths.is_contiguous(), "sequence lengths must be int32")
    held(len(table) == len(lengths), "block_table must be [batch_size, max_num_blocks_per_seq]")
    held(len(lengths) > 0, "batch size must be positive")
    return [row.tolist() for row in table]


def _starts(cu_seqlens: Tensor, total: int, longest: int) -> list[int]:
    held(cu_seqlens.dtype == torch.int32 and cu_seqlens.is_contiguous(), "cu_seqlens must be int32")
    starts: list[int] = cu_seqlens.tolist()
    held(starts[0] == 0 and starts[-1] == total, "cu_seqlens must be sums of lengths")
    held(int(cu_seqlens.diff().max()) == longest, "max_seqlen must be the longest")
    return starts


def _bounds(window: Window) -> tuple[int, int]:
    left, right = (-1 if bound is None else bound for bound in window)
    return left, right


def flash_attn_varlen_func(
    truth: Truth,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cu_seqlens_q: Tensor,
    cu_seqlens_k: Tensor,
    max_seqlen_q: int,
    max_seqlen_k: int,
    dropout_p: float = 0.0,
    softmax_scale: float | None = None,
    causal: bool = False,
    window_size: tuple[int, int] = (-1, -1),
    softcap: float = 0.0,
    alibi_slopes: Tensor | None = None,
    deterministic: bool = False,
    return_attn_probs: bool = False,
    *,
    block_table: Tensor | None = None,
) -> Tensor:
    """Of generation 2."""
    held(alibi_slopes is None and not (dropout_p or deterministic or return_attn_probs), "not of this stand-in")
    held(q.shape[-1] % 8 == 0 and q.shape[-1] <= 256, "head_size should be a multiple of 8, at most 256")
    held(k.shape[1] % 256 == 0, "Paged KV cache block size must be divisible by 256")
    lengths = cu_seqlens_k.diff()
    _starts(cu_seqlens_k, int(lengths.sum()), max_seqlen_k)
    tables = _pages(q, k, v, block_table, lengths)
    starts = _starts(cu_seqlens_q, len(q), max_seqlen_q)
    scale = q.shape[-1] ** -0.5 if softmax_scale is None else softmax_scale
    options: dict[str, Any] = {"scale": scale, "causal": causal, "window": window_size, "soft_cap": softcap}
    return truth(q, k, v, starts, tables, lengths.tolist(), **options)


def flash_attn_with_kvcache(
    truth: Truth,
    q: Tensor,
    k_cache: Tensor,
    v_cache: Tensor,
    k: None = None,
    v: None = None,
    rotary_cos: None = None,
    rotary_sin: None = None,
    cache_seqlens: Tensor | None = None,
    cache_batch_idx: None = None,
    cache_leftpad: None = None,
    block_table: Tensor | None = None,
    softmax_scale: float | None = None,
    causal: bool = False,
    window_size: tuple[int, int] = (-1, -1),
    softcap: float = 0.0,
    rotary_interleaved: bool = True,
    alibi_slopes: None = None,
    num_splits: int = 0,
    return_softmax_lse: bool = False,
) -> Tensor:
    """Of generation 2: [batch_size, seqlen, num_heads, head_size] -> the same shape."""
    unused = (k, v, rotary_cos, rotary_sin, cache_batch_idx, cache_leftpad, alibi_slopes)
    held(all(one is None for one in unused) and rotary_interleaved and not return_softmax_lse, "not of this stand-in")
    held(num_splits == 0, "the number of splits is the library's to choose")
    held(cache_seqlens is not None and q.ndim == 4, "queries are [batch_size, seqlen, num_heads, head_size]")
    assert cache_seqlens is not None
    size, count = q.shape[:2]
    ends = cache_seqlens.cumsum(0, dtype=torch.int32)
    found = flash_attn_varlen_func(
        truth,
        q.flatten(0, 1),
        k_cache,
        v_cache,
        torch.arange(0, (size + 1) * count, count, dtype=torch.int32),
        torch.cat((ends.new_zeros(1), ends)),
        count,
        int(cache_seqlens.max()),
        softmax_scale=softmax_scale,
        causal=causal,
        window_size=window_size,
        softcap=softcap,
        block_table=block_table,
    )
    return found.reshape(q.shape)


def flash_attn_with_kvcache_3(
    truth: Truth,
    q: Tensor,
    k_cache: Tensor,
    v_cache: Tensor,
    k: None = None,
    v: None = None,
    qv: None = None,
    rotary_cos: None = None,
    rotary_sin: None = None,
    cache_seqlens: Tensor | None = None,
    cache_batch_idx: None = None,
    cache_leftpad: None = None,
    page_table: Tensor | None = None,
    cu_seqlens_q: Tensor | None = None,
    cu_seqlens_k_new: None = None,
    max_seqlen_q: int | None = None,
    rotary_seqlens: None = None,
    q_descale: None = None,
    k_descale: None = None,
    v_descale: None = None,
    softmax_scale: float | None = None,
    causal: bool = False,
    window_size: tuple[int, int] = (-1, -1),
    attention_chunk: int = 0,
    softcap: float = 0.0,
    rotary_interleaved: bool = True,
    scheduler_metadata: None = None,
    num_splits: int = 0,
    pack_gqa: None = None,
    sm_margin: int = 0,
    return_softmax_lse: bool = False,
) -> Tensor:
    """Of generation 3, with queries of several lengths."""
    unused = (k, v, qv, rotary_cos, rotary_sin, cache_batch_idx, cache_leftpad, cu_seqlens_k_new, rotary_seqlens)
    more = (q_descale, k_descale, v_descale, scheduler_metadata, pack_gqa)
    held(all(one is None for one in (*unused, *more)), "not of this stand-in")
    held(not (attention_chunk or num_splits or sm_margin or return_softmax_lse), "not of this stand-in")
    held(rotary_interleaved, "not of this stand-in")
    held(q.shape[-1] % 8 == 0 and q.shape[-1] <= 256, "head_size should be a multiple of 8, at most 256")
    held(cache_seqlens is not None and cu_seqlens_q is not None and max_seqlen_q is not None, "lengths are missing")
    assert cache_seqlens is not None
    assert cu_seqlens_q is not None
    assert max_seqlen_q is not None
    tables = _pages(q, k_cache, v_cache, page_table, cache_seqlens)
    starts = _starts(cu_seqlens_q, len(q), max_seqlen_q)
    scale = q.shape[-1] ** -0.5 if softmax_scale is None else softmax_scale
    options: dict[str, Any] = {"scale": scale, "causal": causal, "window": window_size, "soft_cap": softcap}
    return truth(q, k_cache, v_cache, starts, tables, cache_seqlens.tolist(), **options)


def flash_attn_varlen_func_4(
    truth: Truth,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cu_seqlens_q: Tensor | None = None,
    cu_seqlens_k: Tensor | None = None,
    max_seqlen_q: int | None = None,
    max_seqlen_k: int | None = None,
    seqused_q: None = None,
    seqused_k: Tensor | None = None,
    page_table: Tensor | None = None,
    softmax_scale: float | None = None,
    causal: bool = False,
    window_size: Window = (None, None),
    learnable_sink: None = None,
    softcap: float = 0.0,
    num_splits: int = 1,
    pack_gqa: None = None,
    deterministic: bool = False,
    score_mod: None = None,
    mask_mod: None = None,
    block_sparse_tensors: None = None,
    cu_total_m_blocks: None = None,
    cu_total_n_blocks: None = None,
    aux_tensors: None = None,
    return_lse: bool = False,
) -> tuple[Tensor, None]:
    """Of generation 4."""
    unused = (seqused_q, learnable_sink, pack_gqa, score_mod, mask_mod, block_sparse_tensors, cu_total_m_blocks)
    more = (cu_total_n_blocks, aux_tensors, max_seqlen_k)
    held(all(one is None for one in (*unused, *more)), "not of this stand-in")
    held(num_splits == 1 and not (deterministic or return_lse), "not of this stand-in")
    held(cu_seqlens_k is None, "page_table is not supported with cu_seqlens_k")
    held(q.shape[-1] in {64, 128}, "head_dim must be 64 or 128")
    held(k.shape[1] % 128 == 0, "pages of other sizes are another path of the library")
    held(seqused_k is not None and cu_seqlens_q is not None and max_seqlen_q is not None, "lengths are missing")
    assert seqused_k is not None
    assert cu_seqlens_q is not None
    assert max_seqlen_q is not None
    held(all(bound is None or bound >= 0 for bound in window_size), "a window without an end is None")
    tables = _pages(q, k, v, page_table, seqused_k)
    starts = _starts(cu_seqlens_q, len(q), max_seqlen_q)
    scale = q.shape[-1] ** -0.5 if softmax_scale is None else softmax_scale
    options: dict[str, Any] = {"scale": scale, "causal": causal, "soft_cap": softcap}
    return truth(q, k, v, starts, tables, seqused_k.tolist(), window=_bounds(window_size), **options), None


@contextmanager
def stand_ins(truth: Truth) -> Iterator[None]:
    """The modules of all generations.

    Args:
        truth: What computes.
    """
    modules: dict[str, dict[str, Any]] = {
        "flash_attn": {
            "flash_attn_varlen_func": flash_attn_varlen_func,
            "flash_attn_with_kvcache": flash_attn_with_kvcache,
        },
        "flash_attn.cute": {"flash_attn_varlen_func": flash_attn_varlen_func_4},
        "flash_attn_interface": {"flash_attn_with_kvcache": flash_attn_with_kvcache_3},
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, functions in modules.items():
            module = ModuleType(name)
            vars(module).update({key: partial(function, truth) for key, function in functions.items()})
            patch.setitem(sys.modules, name, module)
        yield
