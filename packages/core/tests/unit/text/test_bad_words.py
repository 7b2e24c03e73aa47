from __future__ import annotations

import pytest
from tokenizers import normalizers

from kernelet.errors import ParameterError
from kernelet.text.bad_words import bad_words_token_ids
from kernelet.text.tokenizer import Tokenizer


def reference(tokenizer, words):
    """vLLM's rule, written out: both spellings, the second only if it replaces the first token and adds none."""
    found = []
    for word in words:
        for prefix in ("", " "):
            ids = tokenizer.encode(prefix + word.lstrip(), add_special_tokens=False)
            if not prefix or (ids[0] != found[-1][0] and len(ids) == len(found[-1])):
                found.append(ids)
    return tuple(map(tuple, found))


@pytest.mark.parametrize("words", [["dog"], [" dog"], ["the"], ["lazy dog", "qqq", "🙂"], []])
def test_rule(any_family, words):
    assert bad_words_token_ids(any_family, words) == reference(any_family, words)


def test_both_spellings_of_a_word_with_tokens_for_both(byte_level):
    tokens = [byte_level.id_to_token(index) for index in range(len(byte_level))]
    word = next(token[1:] for token in tokens if token[0] == "Ġ" and token[1:] in tokens)
    expected = tuple((byte_level.token_to_id(token),) for token in (word, f"Ġ{word}"))
    assert bad_words_token_ids(byte_level, [f" {word}"]) == expected


@pytest.mark.parametrize("word", ["", "  "])
def test_empty_word(byte_level, word):
    with pytest.raises(ParameterError, match=r"bad_words: .*leave it out"):
        bad_words_token_ids(byte_level, ["dog", word])


def test_word_without_tokens(make_backend):
    backend = make_backend["byte_level"]()
    backend.normalizer = normalizers.Replace("x", "")
    with pytest.raises(ParameterError, match="no tokens for 'xx'"):
        bad_words_token_ids(Tokenizer(backend), ["xx"])
