from __future__ import annotations

import pytest

from kernelet.contracts.quant import QuantLayer
from kernelet.testing.quantization.layers import layer_of
from kernelet_quant_compressed_tensors.targets import Targets

UP = layer_of("model.layers.1.mlp.up_proj", (4, 64))
TABLE = layer_of("model.embed_tokens", (4, 64), "embedding")
TIED = QuantLayer(name="model.embed_tokens", role="embedding", shape=(4, 64), dtype="float32", head=True, tied=True)
EXPERT = layer_of("model.layers.1.mlp.experts.3.up_proj", (4, 64), "grouped_linear")


@pytest.mark.parametrize(
    "entries, layer, found",
    [
        (["Linear"], UP, "Linear"),
        (["Linear"], EXPERT, "Linear"),
        (["Linear"], TABLE, None),
        (["Embedding"], TABLE, "Embedding"),
        (["Linear", "re:.*up_proj"], UP, "re:.*up_proj"),
        (["re:.*up_proj", UP.name], UP, UP.name),
        (["re:.*b", "re:.*up_proj", "re:.*mlp"], UP, "re:.*mlp"),
        (["re:model"], UP, "re:model"),
        (["re:layers"], UP, None),
        (["re:.*proj$"], UP, "re:.*proj$"),
        (["re:.*mlp.gate"], layer_of("model.layers.1.mlp.gate_up_proj", (4, 64)), "re:.*mlp.gate"),
        (["re:.*mlp.gate$"], layer_of("model.layers.1.mlp.gate_up_proj", (4, 64)), None),
        (["re:.*[^q]v_proj"], layer_of("layers.0.qkv_proj", (4, 64)), "re:.*[^q]v_proj"),
        (["model.layers.1"], UP, None),
        (["up_proj"], UP, None),
        (["mlp.up_proj"], UP, None),
        (["re:.*lm_head.*"], layer_of("lm_head", (4, 64), head=True), "re:.*lm_head.*"),
        (["lm_head"], layer_of("model.lm_head", (4, 64), head=True), None),
        (["visual"], UP, None),
    ],
)
def test_what_an_entry_means(entries, layer, found):
    assert Targets(entries).find(layer) == found


def test_what_is_unused():
    targets = Targets(["Linear", "lm_head", "re:.*visual", "re:.*up_proj"])
    targets.find(UP)
    assert targets.unused() == ("lm_head", "re:.*visual")
    targets.find(TIED)
    assert targets.unused() == ("re:.*visual",)


def test_a_broken_expression_is_named():
    with pytest.raises(ValueError, match=r"'re:\(' is no regular expression"):
        Targets(["re:("])
