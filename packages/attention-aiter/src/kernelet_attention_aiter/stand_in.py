"""A stand-in of the library where there is no device: its signature, its checks, and what it must compute.

The signature is that of https://github.com/ROCm/aiter, ``aiter/ops/mha.py``; layouts are those of
``op_tests/test_batch_prefill.py``. An argument that an adapter must leave as it is raises where it is not.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import ModuleType

import pytest
import torch
from torch import Tensor

from kernelet_attention_aiter.plan import READ_AHEAD

PAGE_SIZES = (1, 16, 1024)
"""For which kernels are built."""


Truth = Callable[..., Tensor]
"""``kernelet.testing.attention.varlen.attend_varlen``."""


def held(condition: object, sentence: str) -> None:
    """Raises what a library raises.

    Raises:
        RuntimeError: with the sentence.
    """
    if not condition:
        raise RuntimeError(sentence)


def mha_batch_prefill_func(
    truth: Truth,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cu_seqlens_q: Tensor,
    kv_indptr: Tensor,
    kv_page_indices: Tensor,
    max_seqlen_q: int,
    max_seqlen_k: int,
    dropout_p: float = 0.0,
    softmax_scale: float | None = None,
    logits_soft_cap: float = 0.0,
    causal: bool = False,
    window_size: tuple[int, int] = (-1, -1),
    alibi_slopes: Tensor | None = None,
    deterministic: bool = False,
    return_lse: bool = False,
    return_attn_probs: bool = False,
    out: Tensor | None = None,
    kv_last_page_lens: Tensor | None = None,
) -> Tensor:
    """Over pages in the linear layout."""
    held(alibi_slopes is None and out is None, "not of this stand-in")
    held(not (dropout_p or deterministic or return_lse or return_attn_probs), "not of this stand-in")
    held(q.dtype in {torch.float16, torch.bfloat16}, "only fp16 and bf16 are supported")
    held(q.dtype == k.dtype == v.dtype, "query, key and value must have the same dtype")
    held(q.stride(-1) == k.stride(-1) == v.stride(-1) == 1, "input must have contiguous last dimension")
    held(k.ndim == 4 and k.shape == v.shape, "linear pages are [num_pages, page_size, num_heads_k, head_size]")
    held(k.shape[1] in PAGE_SIZES, "page_size must be 1, 16 or 1024")
    held(q.shape[-1] in {128, 256}, "head_size must be 128 or 256")
    held(kv_last_page_lens is not None, "pages of several tokens need kv_last_page_lens")
    assert kv_last_page_lens is not None
    arrays = (cu_seqlens_q, kv_indptr, kv_page_indices, kv_last_page_lens)
    held(all(one.dtype == torch.int32 and one.is_contiguous() for one in arrays), "arrays must be int32")
    starts, ends = cu_seqlens_q.tolist(), kv_indptr.tolist()
    held(starts[0] == 0 and starts[-1] == len(q), "cu_seqlens_q must be sums of lengths")
    held(len(kv_page_indices) >= ends[-1] + READ_AHEAD, "kernels read page indices behind the last one")
    lengths = (kv_indptr.diff() - 1) * k.shape[1] + kv_last_page_lens
    held(int(cu_seqlens_q.diff().max()) == max_seqlen_q, "max_seqlen_q must be the longest")
    held(int(lengths.max()) == max_seqlen_k, "max_seqlen_k must be the longest")
    tables = [kv_page_indices[a:b].tolist() for a, b in itertools.pairwise(ends)]
    return truth(
        q,
        k,
        v,
        starts,
        tables,
        lengths.tolist(),
        scale=q.shape[-1] ** -0.5 if softmax_scale is None else softmax_scale,
        causal=causal,
        window=window_size,
        soft_cap=logits_soft_cap,
    )


@contextmanager
def stand_in(truth: Truth) -> Iterator[None]:
    """The module.

    Args:
        truth: What computes.
    """
    module = ModuleType("aiter")
    vars(module)["mha_batch_prefill_func"] = partial(mha_batch_prefill_func, truth)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "aiter", module)
        yield
