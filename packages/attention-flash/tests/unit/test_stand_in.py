from __future__ import annotations

import inspect
import sys

import pytest
import torch

from kernelet.testing.attention.varlen import attend_varlen
from kernelet_attention_flash import stand_in
from kernelet_attention_flash.stand_in import stand_ins


def arguments(**changes):
    """Two requests, of 2 queries and 5 keys and of 1 and 3, for generation 2."""
    values = {
        "q": torch.randn(3, 4, 64).half(),
        "k": torch.randn(5, 256, 2, 64).half(),
        "v": torch.randn(5, 256, 2, 64).half(),
        "cu_seqlens_q": torch.tensor([0, 2, 3], dtype=torch.int32),
        "cu_seqlens_k": torch.tensor([0, 5, 8], dtype=torch.int32),
        "max_seqlen_q": 2,
        "max_seqlen_k": 5,
        "causal": True,
        "block_table": torch.tensor([[4], [2]], dtype=torch.int32),
    }
    return {**values, **changes}


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"q": torch.randn(3, 4, 64)}, "only support fp16 and bf16"),
        ({"k": torch.randn(5, 128, 2, 64).half()}, "must be divisible by 256"),
        ({"block_table": None}, "no block table"),
        ({"block_table": torch.tensor([[4], [2]])}, "must have dtype torch.int32"),
        ({"cu_seqlens_q": torch.tensor([0, 2, 3])}, "cu_seqlens must be int32"),
        ({"max_seqlen_q": 1}, "max_seqlen must be the longest"),
        ({"alibi_slopes": torch.ones(4)}, "not of this stand-in"),
        ({"dropout_p": 0.1}, "not of this stand-in"),
    ],
)
def test_what_the_library_refuses(changes, message):
    assert stand_in.flash_attn_varlen_func(attend_varlen, **arguments()).isfinite().all()
    with pytest.raises(RuntimeError, match=message):
        stand_in.flash_attn_varlen_func(attend_varlen, **arguments(**changes))


def test_a_mask_that_is_not_causal_shows():
    given = arguments()
    masked, open_ = (
        stand_in.flash_attn_varlen_func(attend_varlen, **{**given, "causal": causal}) for causal in (True, False)
    )
    assert not masked[0].equal(open_[0])
    assert masked[1:].equal(open_[1:])


def test_names_are_those_of_the_library():
    """Where the library is installed, also its own."""
    with stand_ins(attend_varlen):
        found = inspect.signature(sys.modules["flash_attn"].flash_attn_varlen_func).parameters
        assert list(found)[:9] == [
            "q", "k", "v", "cu_seqlens_q", "cu_seqlens_k", "max_seqlen_q", "max_seqlen_k", "dropout_p", "softmax_scale",
        ]  # fmt: skip
    real = pytest.importorskip("flash_attn")
    assert list(inspect.signature(real.flash_attn_varlen_func).parameters) == list(found)
