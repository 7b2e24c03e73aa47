from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from smollm_reference import Reference
from tokenizers import Tokenizer

from kernelet.errors import ModelNotFoundError
from kernelet_model_smollm2.tokenizer import special_tokens, tokenizer_config, tokenizer_json

TEXT = st.text(st.sampled_from("hello w12 3٣½\n\t'sé本🎉.") | st.characters(exclude_categories=["Cs"]), max_size=40)


@pytest.fixture(scope="module")
def tokenizer(fields):
    return Tokenizer.from_str(json.dumps(tokenizer_json(fields)))


@given(text=TEXT, special=st.sampled_from(["", "<|im_start|>", "<|endoftext|>"]))
def test_same_ids_as_the_reference_and_back(tokenizer, fields, text, special):
    text = special + text + special
    tokens, merges = fields["tokenizer.ggml.tokens"], fields["tokenizer.ggml.merges"]
    ids = tokenizer.encode(text, add_special_tokens=False).ids
    assert ids == Reference(tokens, merges, tokens[:3]).encode(text)
    assert tokenizer.decode(ids, skip_special_tokens=False) == text


def test_digits_stay_apart_although_a_merge_joins_them(tokenizer):
    assert "12" in tokenizer.get_vocab()
    assert tokenizer.encode("h12").tokens == ["h", "1", "2"]
    assert tokenizer.encode("hello w").tokens == ["hello", "Ġw"]


def test_special_tokens(tokenizer, fields):
    assert [token["content"] for token in special_tokens(fields)] == ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    assert tokenizer.encode("<|im_end|>").ids == [2]
    assert tokenizer.decode([1, 2], skip_special_tokens=True) == ""


@pytest.mark.parametrize("key, value", [("tokenizer.ggml.model", "llama"), ("tokenizer.ggml.pre", "gpt-2")])
def test_another_tokenizer_is_refused(fields, key, value):
    with pytest.raises(ModelNotFoundError, match=value):
        tokenizer_json(fields | {key: value})


def test_unexpected_kind_of_token_is_refused(fields):
    with pytest.raises(ModelNotFoundError, match=r"\[4\]"):
        tokenizer_json(fields | {"tokenizer.ggml.token_type": [4]})


def test_config_names_the_tokens(fields):
    config = tokenizer_config(fields)
    names = ("bos_token", "eos_token", "unk_token", "pad_token")
    assert [config[name] for name in names] == ["<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|im_end|>"]
    assert config["model_max_length"] == 128
    assert config["added_tokens_decoder"]["1"]["content"] == "<|im_start|>"
    assert config["chat_template"].startswith("{% for m in messages %}")
