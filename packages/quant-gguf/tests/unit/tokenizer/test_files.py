from __future__ import annotations

import json

import pytest
import tokenizers

from kernelet.errors import UnsupportedModelError
from kernelet.text.chat_template import ChatTemplate
from kernelet.text.tokenizer import Tokenizer
from kernelet_quant_gguf.tokenizer.files import TEMPLATE, tokenizer_config, tokenizer_json
from kernelet_quant_gguf.tokenizer.vocabulary import Vocabulary

ALPHABET = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
TOKENS = ["<|endoftext|>", *ALPHABET, "ab", "\u0120ab", "<|im_start|>", "<|im_end|>", "    ", "[PAD262]"]
TYPES = [3] + [1] * 258 + [3, 3, 4, 5]
SAID = {
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.pre": "qwen2",
    "tokenizer.ggml.tokens": TOKENS,
    "tokenizer.ggml.token_type": TYPES,
    "tokenizer.ggml.merges": ["a b", "\u0120 ab"],
    "tokenizer.ggml.eos_token_id": 260,
    "tokenizer.ggml.padding_token_id": 0,
    TEMPLATE: "{% for m in messages %}<|im_start|>{{ m.content }}<|im_end|>{% endfor %}",
}


@pytest.fixture
def folder(tmp_path):
    found = Vocabulary.of(SAID)
    (tmp_path / "tokenizer.json").write_text(json.dumps(tokenizer_json(found)))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(tokenizer_config(found)))
    return tmp_path


def test_every_token_has_its_id(folder):
    tokenizer = Tokenizer.from_folder(folder)
    assert [tokenizer.token_to_id(token) for token in TOKENS[:-1]] == list(range(262))
    assert tokenizer.id_to_token(262) is None
    assert tokenizer.all_special_ids == (0, 259, 260)
    assert tokenizer.eos_token_id == 260


def test_texts_and_added_tokens(folder):
    tokenizer = Tokenizer.from_folder(folder)
    ids = tokenizer.encode("ab ab    <|im_end|>\u00e9")
    assert [TOKENS[index] for index in ids] == ["ab", "\u0120ab", "    ", "<|im_end|>", "\u00c3", "\u00a9"]
    assert tokenizer.decode(ids, skip_special_tokens=False) == "ab ab    <|im_end|>\u00e9"


def test_the_chat_template(folder):
    template = ChatTemplate.from_folder(folder, {})
    assert template.render([{"role": "user", "content": "hi"}]) == "<|im_start|>hi<|im_end|>"


def test_several_chat_templates():
    found = tokenizer_config(Vocabulary.of(SAID | {f"{TEMPLATE}.tool_use": "tools", f"{TEMPLATE}s": ["tool_use"]}))
    names = {one["name"]: one["template"] for one in found["chat_template"]}
    assert names == {"default": SAID[TEMPLATE], "tool_use": "tools"}
    assert "chat_template" not in tokenizer_config(Vocabulary.of({k: v for k, v in SAID.items() if k != TEMPLATE}))


@pytest.mark.parametrize(
    "said, message",
    [
        ({"tokenizer.ggml.model": "t5"}, "of the kind 't5'; served are 'gpt2' and 'llama'"),
        ({"tokenizer.ggml.merges": None}, r"no tokenizer\.ggml\.merges"),
        ({"tokenizer.ggml.pre": "unheard"}, "'unheard'"),
    ],
)
def test_other_kinds_are_refused(said, message):
    with pytest.raises(UnsupportedModelError, match=message):
        tokenizer_json(Vocabulary.of(SAID | said))
