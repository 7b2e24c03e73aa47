from __future__ import annotations

import pytest
import torch

from kernelet.layers.elementary import rotary
from kernelet.layers.rotary import RopeRows
from kernelet_ops_triton.device.rotary import rotate


@pytest.mark.parametrize("interleaved", [False, True])
def test_heads_of_a_view(interleaved):
    """Tokens and heads lie apart; another row of the same program has another angle."""
    tokens, heads, size, rotary_size = 3, 2, 12, 8
    whole = torch.randn(tokens, 5, size)
    x = whole[:, 1 : 1 + heads]
    cos, sin = torch.randn(tokens, rotary_size), torch.randn(tokens, rotary_size)
    found, before = torch.empty(tokens, heads, size), whole.clone()
    rotate[2,](
        x, cos, sin, found, tokens * heads, heads, x.stride(0), x.stride(1),
        size=size, rotary_size=rotary_size, interleaved=interleaved, block_m=4, block_n=16,
    )  # fmt: skip
    rope = RopeRows(cos[:, None], sin[:, None], interleaved)
    torch.testing.assert_close(found, rotary(x.clone(), rope), rtol=1e-6, atol=1e-6)
    assert torch.equal(whole, before)
