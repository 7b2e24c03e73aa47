"""A stand-in of the library where there is no device: its signatures, its checks, and what it must compute.

Signatures are those of https://github.com/flashinfer-ai/flashinfer, ``flashinfer/decode.py`` and
``flashinfer/prefill.py``. An argument that an adapter must leave as it is raises where it is not.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor

from kernelet_attention_flashinfer import plan

HALVES = (torch.float16, torch.bfloat16)


Truth = Callable[..., Tensor]
"""``kernelet.testing.attention.varlen.attend_varlen``."""


def held(condition: object, sentence: str) -> None:
    """Raises what a library raises.

    Raises:
        ValueError: with the sentence.
    """
    if not condition:
        raise ValueError(sentence)


class Wrapper:
    """What both have in common.

    Attributes:
        truth: What computes.

    Args:
        float_workspace_buffer: uint8, zeros at first.
        kv_layout: ``"NHD"`` or ``"HND"``.
    """

    truth: ClassVar[Truth]

    def __init__(self, float_workspace_buffer: Tensor, kv_layout: str) -> None:
        held(float_workspace_buffer.dtype == torch.uint8, "the workspace must be bytes")
        held(kv_layout == "NHD", "not of this stand-in")
        self._plan: dict[str, Any] = {}

    def held_plan(self, pages: tuple[Tensor, Tensor, Tensor], sizes: tuple[int, ...], **options: Any) -> None:
        """Checks and keeps a plan."""
        indptr, indices, last = pages
        page_size = sizes[-1]
        held(all(part.dtype == torch.int32 for part in pages), "indptr, indices and last_page_len must be int32")
        held(int(indptr[0]) == 0 and int(indptr[-1]) == len(indices), "indptr must end at the number of pages")
        held(bool((indptr.diff() >= 1).all()), "a request must have a page")
        held(len(last) == len(indptr) - 1, "last_page_len must be [batch_size]")
        held(bool(((last >= 1) & (last <= page_size)).all()), "1 <= last_page_len <= page_size")
        held(sizes[0] % sizes[1] == 0, "num_qo_heads must be a multiple of num_kv_heads")
        held(sizes[2] in {64, 128, 256}, "head_dim must be 64, 128 or 256")
        held(options["q_data_type"] in HALVES, "queries must be float16 or bfloat16")
        lengths = (indptr.diff() - 1) * page_size + last
        tables = [indices[a:b].tolist() for a, b in zip(indptr[:-1].tolist(), indptr[1:].tolist(), strict=True)]
        self._plan = {**options, "lengths": lengths.tolist(), "tables": tables, "sizes": sizes}

    def attended(self, q: Tensor, paged_kv_cache: Any, starts: list[int], *, causal: bool) -> Tensor:
        """Attention as planned."""
        planned = self._plan
        heads, kv_heads, head_size, page_size = planned["sizes"]
        held(
            q.dtype == planned["q_data_type"] and q.is_contiguous(), "queries must be contiguous, of the planned dtype"
        )
        held(q.shape == (starts[-1], heads, head_size), "queries must be [tokens, num_qo_heads, head_dim]")
        held(isinstance(paged_kv_cache, tuple) and len(paged_kv_cache) == 2, "not of this stand-in")
        for part in paged_kv_cache:
            held(part.dtype == planned["kv_data_type"], "pages must be of the planned dtype")
            held(part.shape[1:] == (page_size, kv_heads, head_size), "pages must be [page_size, kv_heads, head_dim]")
        key, value = (part.float() if part.itemsize == 1 else part for part in paged_kv_cache)
        window = (planned["window_left"], 0 if planned["window_left"] >= 0 else -1)
        options = {
            "scale": planned["sm_scale"],
            "causal": causal,
            "window": window,
            "soft_cap": planned["logits_soft_cap"],
        }
        return self.truth(q, key, value, starts, planned["tables"], planned["lengths"], **options)


class BatchDecodeWithPagedKVCacheWrapper(Wrapper):
    """One token a request."""

    def __init__(
        self,
        float_workspace_buffer: Tensor,
        kv_layout: str = "NHD",
        use_cuda_graph: bool = False,
        use_tensor_cores: bool = False,
        paged_kv_indptr_buffer: Tensor | None = None,
        paged_kv_indices_buffer: Tensor | None = None,
        paged_kv_last_page_len_buffer: Tensor | None = None,
        backend: str = "auto",
        jit_args: list[Any] | None = None,
    ) -> None:
        buffers = (paged_kv_indptr_buffer, paged_kv_indices_buffer, paged_kv_last_page_len_buffer, jit_args)
        held(all(one is None for one in buffers), "not of this stand-in")
        held(use_tensor_cores and not use_cuda_graph and backend == "auto", "not of this stand-in")
        super().__init__(float_workspace_buffer, kv_layout)

    def plan(
        self,
        indptr: Tensor,
        indices: Tensor,
        last_page_len: Tensor,
        num_qo_heads: int,
        num_kv_heads: int,
        head_dim: int,
        page_size: int,
        *,
        pos_encoding_mode: str = "NONE",
        window_left: int = -1,
        logits_soft_cap: float | None = None,
        q_data_type: torch.dtype = torch.float16,
        kv_data_type: torch.dtype | None = None,
        data_type: torch.dtype | None = None,
        sm_scale: float | None = None,
        rope_scale: float | None = None,
        rope_theta: float | None = None,
        non_blocking: bool = True,
    ) -> None:
        held(pos_encoding_mode == "NONE" and non_blocking, "not of this stand-in")
        held(data_type is None and rope_scale is None and rope_theta is None, "not of this stand-in")
        self.held_plan(
            (indptr, indices, last_page_len),
            (num_qo_heads, num_kv_heads, head_dim, page_size),
            window_left=window_left,
            logits_soft_cap=logits_soft_cap or 0.0,
            q_data_type=q_data_type,
            kv_data_type=kv_data_type or q_data_type,
            sm_scale=head_dim**-0.5 if sm_scale is None else sm_scale,
        )

    def run(self, q: Tensor, paged_kv_cache: Any) -> Tensor:
        """[batch_size, num_qo_heads, head_dim] -> the same shape."""
        return self.attended(q, paged_kv_cache, list(range(len(self._plan["lengths"]) + 1)), causal=True)


class BatchPrefillWithPagedKVCacheWrapper(Wrapper):
    """Several tokens a request."""

    def __init__(
        self,
        float_workspace_buffer: Tensor,
        kv_layout: str = "NHD",
        use_cuda_graph: bool = False,
        qo_indptr_buf: Tensor | None = None,
        paged_kv_indptr_buf: Tensor | None = None,
        paged_kv_indices_buf: Tensor | None = None,
        paged_kv_last_page_len_buf: Tensor | None = None,
        custom_mask_buf: Tensor | None = None,
        mask_indptr_buf: Tensor | None = None,
        backend: str = "auto",
        jit_args: list[Any] | None = None,
    ) -> None:
        buffers = (qo_indptr_buf, paged_kv_indptr_buf, paged_kv_indices_buf, paged_kv_last_page_len_buf, jit_args)
        held(all(one is None for one in (*buffers, custom_mask_buf, mask_indptr_buf)), "not of this stand-in")
        held(not use_cuda_graph and backend == "auto", "not of this stand-in")
        super().__init__(float_workspace_buffer, kv_layout)

    def plan(
        self,
        qo_indptr: Tensor,
        paged_kv_indptr: Tensor,
        paged_kv_indices: Tensor,
        paged_kv_last_page_len: Tensor,
        num_qo_heads: int,
        num_kv_heads: int,
        head_dim_qk: int,
        page_size: int,
        head_dim_vo: int | None = None,
        custom_mask: Tensor | None = None,
        packed_custom_mask: Tensor | None = None,
        causal: bool = False,
        pos_encoding_mode: str = "NONE",
        use_fp16_qk_reduction: bool = False,
        sm_scale: float | None = None,
        window_left: int = -1,
        logits_soft_cap: float | None = None,
        rope_scale: float | None = None,
        rope_theta: float | None = None,
        q_data_type: torch.dtype = torch.float16,
        kv_data_type: torch.dtype | None = None,
        non_blocking: bool = True,
    ) -> None:
        held(head_dim_vo is None and custom_mask is None and packed_custom_mask is None, "not of this stand-in")
        held(pos_encoding_mode == "NONE" and non_blocking and not use_fp16_qk_reduction, "not of this stand-in")
        held(rope_scale is None and rope_theta is None, "not of this stand-in")
        held(qo_indptr.dtype == torch.int32, "qo_indptr must be int32")
        self.held_plan(
            (paged_kv_indptr, paged_kv_indices, paged_kv_last_page_len),
            (num_qo_heads, num_kv_heads, head_dim_qk, page_size),
            window_left=window_left,
            logits_soft_cap=logits_soft_cap or 0.0,
            q_data_type=q_data_type,
            kv_data_type=kv_data_type or q_data_type,
            sm_scale=head_dim_qk**-0.5 if sm_scale is None else sm_scale,
        )
        self._starts: list[int] = qo_indptr.tolist()
        self._causal = causal

    def run(self, q: Tensor, paged_kv_cache: Any) -> Tensor:
        """[tokens, num_qo_heads, head_dim] -> the same shape."""
        return self.attended(q, paged_kv_cache, self._starts, causal=self._causal)


@contextmanager
def stand_in(truth: Truth) -> Iterator[None]:
    """The module.

    Args:
        truth: What computes.
    """
    module = ModuleType("flashinfer")
    for wrapper in (BatchDecodeWithPagedKVCacheWrapper, BatchPrefillWithPagedKVCacheWrapper):
        name = wrapper.__name__
        setattr(module, name, type(name, (wrapper,), {"truth": staticmethod(truth)}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "flashinfer", module)
        patch.setattr(plan, "WORKSPACE_BYTES", 16)  # nothing is in it
        yield
