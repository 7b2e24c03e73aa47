from __future__ import annotations

import torch
from torch.nn.attention import flex_attention as module

from kernelet_attention_flex.flex import SWITCH, attention


def inputs():
    return [torch.randn(2, 3, 5, 8) for _ in range(3)]


def test_uncompiled_it_is_attention_and_leaves_the_switch_as_it_was():
    query, key, value = inputs()
    before = getattr(module, SWITCH)
    found = attention(compiled=False)(query, key, value, scale=0.3)
    assert getattr(module, SWITCH) is before
    wanted = torch.nn.functional.scaled_dot_product_attention(query, key, value, scale=0.3)
    assert torch.allclose(found, wanted, atol=1e-6)


def test_compiled_it_is_called_as_one_function(monkeypatch):
    """Compiling takes a device's compiler, or half a minute; here is what is asked of it."""
    asked = {}

    def compiled(function, **options):
        asked.update(options, function=function)
        return function

    monkeypatch.setattr(torch, "compile", compiled)
    call = attention(compiled=True)
    assert asked == {"function": module.flex_attention, "fullgraph": True, "dynamic": True}
    monkeypatch.setattr(module, SWITCH, True)
    query, key, value = inputs()
    wanted = torch.nn.functional.scaled_dot_product_attention(query, key, value, scale=0.3)
    assert torch.allclose(call(query, key, value, scale=0.3), wanted, atol=1e-6)
