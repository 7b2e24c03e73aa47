"""A model that so many ranks cannot share: one error, which names what does not fit and lists the sizes that work."""

from __future__ import annotations

import dataclasses
import re

import pytest
import tiny_models
from rank_models import NARROW, OPTIONS, workers

from kernelet import LLM
from kernelet.contracts.op import ScaleLevel, WeightScheme
from kernelet.contracts.quant import QuantizationMethod
from kernelet.errors import ConfigError, UnsupportedModelError
from kernelet.testing.tensors import make_context
from kernelet.worker.model import build
from kernelet_models_decoder.decoder import DecoderModel

LLAMA = {"architecture": "LlamaForCausalLM", "rms_norm_eps": 1e-5, "hidden_act": "silu"}
SHAPE = tiny_models.SHAPE | NARROW | LLAMA


class Groups(QuantizationMethod):
    """Groups of 32 inputs share a scale."""

    config = None

    def __init__(self):
        """Needs no settings."""

    def scheme(self, layer):
        levels = (ScaleLevel("float32", (1, 32)),)
        return None if layer.head or layer.role == "embedding" else WeightScheme(element="int4", scales=levels)

    def canonical(self, layer, stored):
        raise AssertionError("no weight is loaded here")


def model(size, rank=0, quantization=None, architecture="LlamaForCausalLM", **changes):
    context = make_context(SHAPE | changes, architecture=architecture, size=size, rank=rank, communicator=object())
    return build(DecoderModel, dataclasses.replace(context, quantization=quantization))


@pytest.mark.parametrize(
    "size, changes, what, sizes",
    [
        (3, {}, "model.embed_tokens (vocabulary): 208", "1, 2, 4, 8"),
        (3, {"vocab_size": 210}, "model.layers.0.self_attn.qkv_proj (query heads): 8", "1, 2"),
        (16, {}, "model.layers.0.self_attn.qkv_proj (query heads): 8", "1, 2, 4, 8"),
        (8, {"vocab_size": 212}, "model.embed_tokens (vocabulary): 212", "1, 2, 4"),
        (4, {"intermediate_size": 90}, "model.layers.0.mlp.gate_up_proj (gate): 90", "1, 2"),
        (
            6,
            {"num_attention_heads": 12, "num_key_value_heads": 4, "vocab_size": 240},
            "model.layers.0.self_attn.qkv_proj (key and value heads): 4",
            "1, 2, 4, 12",
        ),
        (
            2,
            {"quantization": Groups()},
            "model.layers.0.mlp.down_proj (inputs that share a scale): 96 in groups of 32",
            "1",
        ),
        (
            4,
            {"quantization": Groups(), "intermediate_size": 128, "head_dim": 16},
            None,
            "1, 2, 4",
        ),
        (7, {"vocab_size": 211}, "model.embed_tokens (vocabulary): 211", "1"),
    ],
)
def test_what_does_not_fit_is_named_with_what_would(size, changes, what, sizes):
    if what is not None:
        said = f"{what} cannot be divided over {size} tensor-parallel ranks. Sizes that work for this model: "
        with pytest.raises(ConfigError, match=rf"^{re.escape(said)}--tensor-parallel-size {sizes}$"):
            model(size, **changes)
    for works in map(int, sizes.split(", ")):
        model(works, rank=works - 1, **changes)


def test_a_norm_over_all_heads_is_refused():
    olmo = {"architecture": "Olmo2ForCausalLM"}
    model(1, **olmo)
    with pytest.raises(UnsupportedModelError, match="norm over all heads together is not served with tensor"):
        model(2, **olmo)


@pytest.mark.long
def test_the_error_is_raised_where_the_engine_is_made(narrow):
    with pytest.raises(ConfigError, match=r"208 cannot be divided over 3 .*: --tensor-parallel-size 1, 2, 4, 8\s"):
        LLM(str(narrow), tensor_parallel_size=3, **OPTIONS)
    assert workers() == []


def test_the_executor_of_one_rank_is_refused(narrow):
    with pytest.raises(ConfigError, match="--tensor-parallel-size 2: the in-process executor has one rank"):
        LLM(str(narrow), tensor_parallel_size=2, distributed_executor_backend="in-process", **OPTIONS)
