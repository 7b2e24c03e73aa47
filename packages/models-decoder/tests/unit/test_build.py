from __future__ import annotations

import dataclasses

import pytest
from decoder_families import MAX_LEN

from kernelet.errors import UnsupportedModelError
from kernelet.layers.weights import layers_of, weights_of
from kernelet.testing.tensors import make_context
from kernelet_models_decoder.build import component, make_layer
from kernelet_models_decoder.resolve import resolve
from kernelet_models_decoder.rows import row_of


def build(case, index=0, **changes):
    context = make_context(case.config, max_model_len=MAX_LEN, size=changes.pop("size", 1))
    spec = resolve(row_of(case.config["architectures"][0]), case.config)
    return context, make_layer(context, dataclasses.replace(spec, **changes), index)


def test_every_layer_has_its_global_name(made):
    context, layer = build(made("qwen3_moe"), 3)
    names = [plan.name for plan in context.layer_plans]
    assert names == [
        "model.layers.3.self_attn.qkv_proj",
        "model.layers.3.self_attn.o_proj",
        "model.layers.3.mlp.experts.gate_up_proj",
        "model.layers.3.mlp.experts.down_proj",
        "model.layers.3.mlp.gate",
    ]
    assert layer.index == 3
    assert all(name.startswith("model.layers.3.") for name in weights_of(layers_of(layer)))
    _, dense = build(made("qwen3_moe"), 2)
    assert any(name.endswith("mlp.gate_up_proj.weight") for name in weights_of(layers_of(dense)))


@pytest.mark.parametrize("column", ["norm", "placement", "qk_norm"])
def test_an_unknown_component_lists_the_known(made, column):
    with pytest.raises(UnsupportedModelError, match=f"'{column}' has no component 'other'; there are"):
        build(made("llama"), **{column: "other"})


def test_component_picks_by_name():
    assert component("x", "b", {"a": 1, "b": 2}) == 2


def test_a_norm_over_all_heads_refuses_tensor_parallelism(made):
    build(made("qwen3"), size=2)
    with pytest.raises(UnsupportedModelError, match="tensor parallelism"):
        build(made("olmo2"), size=2)


def test_columns_that_do_not_fit_each_other_are_refused(made):
    with pytest.raises(UnsupportedModelError, match="no column"):
        build(made("mixtral"), experts=None)
    with pytest.raises(UnsupportedModelError, match="no column"):
        build(made("qwen3_moe"), 2, mlp=None)
