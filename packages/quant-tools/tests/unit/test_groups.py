from __future__ import annotations

import pytest
import torch
from quantize_models import FEW as IDS
from quantize_models import reader
from torch import nn
from torch.nn import functional

from kernelet_quant_tools.decoder import Arguments, Decoder
from kernelet_quant_tools.groups import Shared, find_shared, trace

QKV = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj")
GATED = ("mlp.gate_proj", "mlp.up_proj")


@pytest.mark.parametrize(
    "name, before_output, before_mlp",
    [
        ("llama", "", "post_attention_layernorm"),
        ("qwen", "self_attn.v_proj", "post_attention_layernorm"),
        ("gemma", "self_attn.v_proj", "pre_feedforward_layernorm"),
    ],
)
def test_structure_is_found(request, name, before_output, before_mlp):
    folder = request.getfixturevalue(name)
    decoder = Decoder(folder, reader(folder))
    states, arguments = decoder.begin(IDS)
    layer = decoder.load(0)
    before = {key: value.clone() for key, value in layer.state_dict().items()}
    assert find_shared(layer, states[:1], arguments[0]) == [
        Shared(QKV, "input_layernorm"),
        Shared(("self_attn.o_proj",), before_output),
        Shared(GATED, before_mlp),
        Shared(("mlp.down_proj",), "mlp.up_proj"),
    ]
    assert all(torch.equal(before[key], value) for key, value in layer.state_dict().items())


class Layer(nn.Module):
    """What a factor cannot be moved through."""

    def __init__(self, other_use):
        super().__init__()
        self.norm, self.other_use = nn.LayerNorm(8), other_use
        self.first, self.second, self.third = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, states):
        normed = self.norm(states)
        middle = functional.relu(self.second(functional.gelu(self.first(normed))))
        return states + self.third(middle) + (normed if self.other_use else 0)


def test_only_what_changes_nothing_counts():
    torch.manual_seed(0)
    states = torch.randn(1, 5, 8)
    alone, shared = (find_shared(Layer(use).requires_grad_(False), states, Arguments()) for use in (False, True))
    assert alone[0] == Shared(("first",), "norm")
    assert shared[0] == Shared(("first",))  # the norm's output is used elsewhere too
    assert alone[1] == Shared(("second",))  # gelu is not linear
    assert alone[2] == Shared(("third",), "second")  # relu lets positive factors through


def test_a_trace_has_what_goes_in_and_out():
    torch.manual_seed(0)
    layer, states = Layer(other_use=False), torch.randn(1, 5, 8)
    found = trace(layer, states, Arguments())
    assert list(found.inputs) == ["first", "second", "third"]
    assert list(found.outputs) == ["norm", "first", "second", "third"]
    assert found.inputs["first"] is found.outputs["norm"]
    assert torch.equal(found.output, layer(states))
    assert all(not module._forward_hooks for module in layer.modules())
