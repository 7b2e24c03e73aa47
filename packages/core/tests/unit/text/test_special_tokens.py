from __future__ import annotations

import json

import pytest
from tokenizers import AddedToken

from kernelet.errors import TokenizerError
from kernelet.text.special_tokens import SpecialTokens, read_token_ids


def write(folder, **files):
    for name, value in files.items():
        (folder / f"{name}.json").write_text(json.dumps(value), encoding="utf-8")


def texts(tokens):
    return {role: token.content for role, token in tokens.named.items()}


def test_no_files(tmp_path):
    tokens = SpecialTokens.from_folder(tmp_path)
    assert (texts(tokens), tokens.extra, tokens.added) == ({}, (), {})


def test_roles_in_all_their_forms(tmp_path):
    config = {
        "bos_token": "<s>",
        "eos_token": {"content": "</s>", "lstrip": True},
        "pad_token": None,
        "add_bos_token": True,
        "image_token": "<image>",
        "image_token_id": 7,
        "additional_special_tokens": ["<a>", {"content": "<b>"}],
    }
    write(tmp_path, tokenizer_config=config)
    tokens = SpecialTokens.from_folder(tmp_path)
    assert texts(tokens) == {"bos_token": "<s>", "eos_token": "</s>", "image_token": "<image>"}
    assert tokens.named["eos_token"].lstrip
    assert [token.content for token in tokens.extra] == ["<a>", "<b>"]


def test_the_map_counts_only_without_added_tokens(tmp_path):
    write(tmp_path, tokenizer_config={"eos_token": "</s>"}, special_tokens_map={"eos_token": "<|end|>"})
    assert texts(SpecialTokens.from_folder(tmp_path)) == {"eos_token": "<|end|>"}
    added = {"3": {"content": "</s>", "rstrip": True, "special": True}}
    write(tmp_path, tokenizer_config={"eos_token": "</s>", "added_tokens_decoder": added})
    tokens = SpecialTokens.from_folder(tmp_path)
    assert texts(tokens) == {"eos_token": "</s>"}
    assert tokens.named["eos_token"].rstrip
    assert tokens.added[3].content == "</s>"


def test_add_to_makes_known_tokens_special(make_backend):
    backend = make_backend["byte_level"]()
    size, dog = backend.get_vocab_size(), backend.token_to_id("Ġthe")
    SpecialTokens(named={"eos_token": AddedToken("Ġthe")}).add_to(backend)
    assert backend.get_vocab_size() == size
    assert backend.get_added_tokens_decoder()[dog].special


@pytest.mark.parametrize("value", ["</s>", [1, "2"], 1.5, True])
def test_ids_of_a_wrong_type(tmp_path, value):
    write(tmp_path, generation_config={"eos_token_id": value})
    with pytest.raises(TokenizerError, match=r"eos_token_id in .* should be an id or a list of ids"):
        read_token_ids(tmp_path, "eos_token_id")


def test_ids(tmp_path):
    assert read_token_ids(tmp_path, "eos_token_id") == ()
    write(tmp_path, generation_config={"eos_token_id": [2, 3]}, config={"eos_token_id": 4, "bos_token_id": 1})
    assert read_token_ids(tmp_path, "eos_token_id") == (2, 3)
    assert read_token_ids(tmp_path, "bos_token_id") == (1,)
