from __future__ import annotations

import pytest
import torch

from kernelet.testing.attention.varlen import attend_varlen
from kernelet_attention_aiter.stand_in import mha_batch_prefill_func


def arguments(**changes):
    """Two requests, of 2 queries and 19 keys and of 1 and 3."""
    values = {
        "q": torch.randn(3, 4, 128).half(),
        "k": torch.randn(5, 16, 2, 128).half(),
        "v": torch.randn(5, 16, 2, 128).half(),
        "cu_seqlens_q": torch.tensor([0, 2, 3], dtype=torch.int32),
        "kv_indptr": torch.tensor([0, 2, 3], dtype=torch.int32),
        "kv_page_indices": torch.tensor([4, 1, 2] + [0] * 256, dtype=torch.int32),
        "max_seqlen_q": 2,
        "max_seqlen_k": 19,
        "causal": True,
        "kv_last_page_lens": torch.tensor([3, 3], dtype=torch.int32),
    }
    return {**values, **changes}


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"q": torch.randn(3, 4, 128)}, "only fp16 and bf16"),
        ({"k": torch.randn(5, 32, 2, 128).half(), "v": torch.randn(5, 32, 2, 128).half()}, "must be 1, 16 or 1024"),
        ({"kv_last_page_lens": None}, "need kv_last_page_lens"),
        ({"kv_indptr": torch.tensor([0, 2, 3])}, "must be int32"),
        ({"kv_page_indices": torch.tensor([4, 1, 2], dtype=torch.int32)}, "behind the last one"),
        ({"max_seqlen_k": 16}, "max_seqlen_k must be the longest"),
        ({"return_lse": True}, "not of this stand-in"),
    ],
)
def test_what_the_library_refuses(changes, message):
    assert mha_batch_prefill_func(attend_varlen, **arguments()).isfinite().all()
    with pytest.raises(RuntimeError, match=message):
        mha_batch_prefill_func(attend_varlen, **arguments(**changes))
