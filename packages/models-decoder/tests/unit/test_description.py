from __future__ import annotations

import pytest
from decoder_families import MAIN, MAX_LEN

from kernelet.errors import UnsupportedModelError
from kernelet_models_decoder.description import describe


@pytest.mark.parametrize("name", MAIN)
def test_every_family_is_described_by_its_config(made, name):
    config = made(name).config
    info = describe(config)
    assert (info.vocab_size, info.num_layers, info.hidden_size) == (61, 4, config["hidden_size"])
    assert info.max_model_len >= MAX_LEN
    assert info.row == config["architectures"][0]
    assert info.dtype == "float32"


def test_dtype_of_transformers_4_is_read(made):
    assert describe(made("llama", v4=True).config).dtype == "float32"
    assert describe(made("olmo2", v4=True).config).dtype == ""


@pytest.mark.parametrize("architectures", [None, [], ["OtherForCausalLM"]])
def test_an_architecture_that_is_not_served_is_named(architectures):
    with pytest.raises(UnsupportedModelError, match="architectures"):
        describe({"architectures": architectures})


def test_a_value_that_is_not_served_is_named(made):
    with pytest.raises(UnsupportedModelError, match="attn_logit_softcapping"):
        describe(made("gemma3").config | {"attn_logit_softcapping": 50.0})
