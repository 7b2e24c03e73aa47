from __future__ import annotations

import json
from functools import cache

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import GPT2TokenizerFast, Qwen2TokenizerFast

from kernelet.errors import UnsupportedModelError
from kernelet_quant_gguf.tokenizer.splits import SPLITS, split_of

LETTERS = dict(enumerate(tokenizers.pre_tokenizers.ByteLevel.alphabet()))


@cache
def backend(name):
    """A tokenizer that merges nothing."""
    said = {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": split_of(name).pre_tokenizer(),
        "post_processor": None,
        "decoder": None,
        "model": {"type": "BPE", "vocab": {letter: index for index, letter in LETTERS.items()}, "merges": []},
    }
    return tokenizers.Tokenizer.from_str(json.dumps(said))


def pieces(name, text):
    """What stands alone before merging."""
    return [text[first:last] for _, (first, last) in backend(name).pre_tokenizer.pre_tokenize_str(text)]


@pytest.mark.parametrize("name", {repr(split): name for name, split in SPLITS.items()}.values())
@settings(max_examples=20)
@given(text=st.text(max_size=40))
def test_nothing_is_lost(name, text):
    assert "".join(pieces(name, text)) == text


@pytest.mark.parametrize(
    "name, text, expected",
    [
        ("gpt-2", "I've 1234  words\n", ["I", "'ve", " 1234", " ", " words", "\n"]),
        ("smollm", "x 1234", ["x", " ", "1", "2", "3", "4"]),
        ("llama-bpe", "I'VE 12345\n\n  words", ["I", "'VE", " ", "123", "45", "\n\n", " ", " words"]),
        ("qwen2", "12 ab!?\n x", ["1", "2", " ab", "!?\n", " x"]),
        ("tekken", "HelloWorld 12", ["Hello", "World", " ", "1", "2"]),
        ("gpt-4o", "HelloWorld's 1234", ["Hello", "World's", " ", "123", "4"]),
        ("deepseek-coder", "ab 12\u4e00\u4e8c", ["ab", " ", "1", "2", "\u4e00\u4e8c"]),
    ],
)
def test_where_texts_are_cut(name, text, expected):
    assert pieces(name, text) == expected


@cache
def of_transformers(kind):
    return kind(vocab={letter: index for index, letter in LETTERS.items()}, merges=[]).backend_tokenizer


@pytest.mark.parametrize("name, kind", [("gpt-2", GPT2TokenizerFast), ("qwen2", Qwen2TokenizerFast)])
@given(text=st.text(max_size=40))
def test_it_is_what_the_tokenizers_of_transformers_do(name, kind, text):
    theirs = of_transformers(kind)
    found = [text[first:last] for _, (first, last) in theirs.pre_tokenizer.pre_tokenize_str(text)]
    assert pieces(name, text) == found


@pytest.mark.parametrize("name", [None, "default", "unheard-of"])
def test_others_are_refused(name):
    with pytest.raises(UnsupportedModelError, match=r"cuts a text.*served are chatglm-bpe"):
        split_of(name)
