from __future__ import annotations

import pytest
import torch

from kernelet.errors import UnsupportedModelError
from kernelet_quant_gguf.architectures import SERVED
from kernelet_quant_gguf.names import Order
from kernelet_quant_gguf.writing.tensors import Planned, plan


def planned(model, *names):
    return {one.name: one for one in plan(SERVED[model], names, (4, 2))}


def test_names_of_the_file():
    names = "model.embed_tokens.weight", "model.layers.12.mlp.down_proj.weight", "model.layers.1.self_attn.k_proj.bias"
    found = planned("LlamaForCausalLM", *names)
    assert list(found) == ["token_embd.weight", "blk.12.ffn_down.weight", "blk.1.attn_k.bias"]
    assert found["blk.1.attn_k.bias"].order == Order(2, 2)
    assert [one.sources for one in found.values()] == [[name] for name in names]


def test_experts_are_one_tensor_in_order():
    names = [f"model.layers.0.mlp.experts.{number}.up_proj.weight" for number in (2, 0, 1)]
    (found,) = planned("Qwen3MoeForCausalLM", *names).values()
    assert (found.name, found.stacked) == ("blk.0.ffn_up_exps.weight", True)
    assert found.sources == sorted(names)
    with pytest.raises(UnsupportedModelError, match=r"the experts \[0, 2\]"):
        planned("Qwen3MoeForCausalLM", *names[:2])


def test_norms_of_gemma_have_one_added():
    (found,) = planned("Gemma2ForCausalLM", "model.layers.0.input_layernorm.weight").values()
    assert torch.equal(found.arrange(torch.tensor([0.5, -1.0])), torch.tensor([1.5, 0.0]))


@pytest.mark.parametrize("order", [Order(3, 2), Order(3, 3, outside=True), Order(1, 2)])
@pytest.mark.parametrize("columns", [(), (5,)])
def test_rows_come_back_as_they_were(order, columns):
    rows = order.heads * order.parts * 4
    value = torch.arange(rows * 5).view(rows, 5)[:, 0] if not columns else torch.arange(rows * 5).view(rows, 5)
    stored = Planned("x", "attn_q", ["x"], order).arrange(value)
    axes, turned = order.stored(rows)
    places = torch.arange(rows).view(axes).permute(turned).flatten()
    assert torch.equal(stored[places], value)
    assert order.heads == 1 or not torch.equal(stored, value)


def test_what_has_no_place_is_named():
    with pytest.raises(UnsupportedModelError, match=r"model\.layers\.0\.mlp\.gate\.weight has no place"):
        planned("LlamaForCausalLM", "model.layers.0.mlp.gate.weight")
    assert not planned("LlamaForCausalLM", "model.layers.0.self_attn.rotary_emb.inv_freq")
