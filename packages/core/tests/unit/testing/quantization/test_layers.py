from __future__ import annotations

import torch

from kernelet.testing.quantization.layers import layers, model_config, weight_of


def test_a_model_has_every_kind_of_module():
    found = layers("float16")
    assert len({layer.name for layer in found}) == len(found)
    assert {layer.role for layer in found} == {"linear", "grouped_linear", "embedding"}
    assert [layer.name for layer in found if layer.head] == ["lm_head"]
    assert [layer.name for layer in found if layer.router] == ["model.layers.1.mlp.gate"]
    assert {layer.dtype for layer in found} == {"float16"}


def test_weights_are_equal_for_equal_seeds_and_have_a_row_of_zeros():
    one, other = weight_of((6, 8), 1, torch.bfloat16), weight_of((6, 8), 1, torch.bfloat16)
    assert one.dtype == torch.bfloat16
    assert torch.equal(one, other)
    assert not torch.equal(one, weight_of((6, 8), 2, torch.bfloat16))
    assert [bool(row.any()) for row in one] == [False, *[True] * 5]


def test_the_model_says_what_the_checkpoint_says():
    assert model_config("x", None).quantization_config is None
    assert model_config("x", {"a": 1}).quantization_config == {"a": 1}
