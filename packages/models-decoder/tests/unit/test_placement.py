from __future__ import annotations

import pytest
import torch

from kernelet.testing.tensors import make_context
from kernelet_models_decoder.placement import PLACEMENTS

D = torch.float64
X = torch.tensor([[1.0, -2.0, 0.5]], dtype=D)
SCALE = 0.6


class Block(torch.nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, x, step=None):
        return torch.tanh(x * self.factor)


def attn(x):
    return torch.tanh(x * 2.0)


def mlp(x):
    return torch.tanh(x * 3.0)


def norm(shift):
    return lambda x: x * 1.5 + shift


N = {"attention_norm": 0.1, "mlp_norm": 0.2, "post_attention_norm": 0.3, "post_mlp_norm": 0.4}
n = {name: norm(shift) for name, shift in N.items()}


class Norm(torch.nn.Module):
    dtype = D

    def __init__(self, shift):
        super().__init__()
        self.shift = shift

    def forward(self, x):
        return norm(self.shift)(x)


def pre(x):
    x = x + SCALE * attn(n["attention_norm"](x))
    return x + SCALE * mlp(n["mlp_norm"](x))


def post(x):
    x = x + SCALE * n["post_attention_norm"](attn(x))
    return x + SCALE * n["post_mlp_norm"](mlp(x))


def sandwich(x):
    x = x + SCALE * n["post_attention_norm"](attn(n["attention_norm"](x)))
    return x + SCALE * n["post_mlp_norm"](mlp(n["mlp_norm"](x)))


def parallel(x):
    return x + SCALE * (attn(n["attention_norm"](x)) + mlp(n["mlp_norm"](x)))


def parallel_shared(x):
    return x + SCALE * (attn(n["attention_norm"](x)) + mlp(n["attention_norm"](x)))


FORMULAS = {
    "pre": pre,
    "post": post,
    "sandwich": sandwich,
    "parallel": parallel,
    "parallel_shared": parallel_shared,
}


@pytest.mark.parametrize("name", PLACEMENTS)
def test_placement_is_its_formula(name):
    kind = PLACEMENTS[name]
    norms = {norm_name: Norm(N[norm_name]) for norm_name in kind.norm_names}
    layer = kind(make_context(dtype=D).ops, 5, Block(2.0), Block(3.0), norms, SCALE)
    torch.testing.assert_close(layer.compose(X, None), FORMULAS[name](X))
    assert len(list(layer.children())) == 2 + len(kind.norm_names)
    assert layer.index == 5
