from __future__ import annotations

import numpy as np
import pytest

from kernelet.structured.token_index import TokenIndex, packed
from kernelet.testing.grammar_engine.vocabulary import byte_vocabulary, make_vocabulary

VOCABULARY = byte_vocabulary()
TOKENS = VOCABULARY.token_bytes


@pytest.fixture(scope="module")
def index():
    return TokenIndex(VOCABULARY)


@pytest.mark.parametrize("text", [b"a", b"ab", b'"', b"\xff", b"\xc3", b"zz", b"true", b"\n"])
def test_by_definition(index, text):
    def ids(holds):
        return [token_id for token_id, token in enumerate(TOKENS) if token and holds(token)]

    assert sorted(index.exactly(text)) == ids(lambda token: token == text)
    assert sorted(index.beyond(text)) == ids(lambda token: token.startswith(text) and token != text)
    assert sorted(index.holding(text)) == ids(lambda token: text in token[:-1])
    assert sorted(index.ending(text)) == ids(lambda token: token.endswith(text))
    assert sorted(np.concatenate(list(index.within(text)))) == ids(text.startswith)


def test_tokens_of_characters(index):
    found = index.of_characters(" \n")
    assert found == {token_id: len(token) for token_id, token in enumerate(TOKENS) if token and not token.strip(b" \n")}
    assert 0 not in found


def test_a_mask_of_everything_has_what_may_come_in_a_free_text(index):
    (stop,) = VOCABULARY.stop_token_ids
    allowed = np.flatnonzero(index.everything()).tolist()
    assert allowed == [token_id for token_id in range(len(TOKENS)) if token_id != stop]
    assert index.silent == [token_id for token_id, token in enumerate(TOKENS) if not token and token_id != stop]
    assert not index.nothing().any()


def test_a_mask_as_words():
    index = TokenIndex(make_vocabulary([b"a"] * 70, [3]))
    words = packed(index.everything())
    assert (words.dtype, len(words)) == (np.int32, 3)
    bits = [(int(words[token // 32]) >> (token % 32)) & 1 for token in range(96)]
    assert bits == [int(token < 70 and token != 3) for token in range(96)]
