from __future__ import annotations

import pytest
import torch

from kernelet.contracts.attention import AttentionSpec
from kernelet.contracts.cache import FullAttentionSpec
from kernelet.contracts.offer import Settings
from kernelet.errors import ConfigError
from kernelet_attention_triton import attention

SPEC = AttentionSpec(kind="full", num_heads=2, num_kv_heads=1, head_size=16, dtype="float32", block_size=4, scale=0.25)


def layer():
    return attention.TritonAttention(SPEC, Settings(plugin="x", values={"batch_invariant": False}))


def test_a_cpu_without_the_interpreter_is_refused(monkeypatch):
    monkeypatch.setattr(attention, "interpreting", lambda: False)
    spec = FullAttentionSpec(block_size=4, num_kv_heads=1, head_size=16, page_bytes=1 << 12, dtype="float32")
    with pytest.raises(ConfigError, match=r"--attention-backend, or set TRITON_INTERPRET=1"):
        layer().allocate_cache(spec, 2, torch.device("cpu"))


def test_vectors_are_copied_only_where_heads_do_not_follow_each_other():
    fused = torch.zeros(3, 6, 16)
    view = fused[:, 2:4]
    assert attention._rows(view) is view
    apart = torch.zeros(2, 3, 16).transpose(0, 1)
    assert attention._rows(apart).is_contiguous()
