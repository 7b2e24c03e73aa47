from __future__ import annotations

import itertools
import json

import pytest
import tokenizers
from gguf_files import SCORES, TOKENS, TYPES
from hypothesis import given
from hypothesis import strategies as st

from kernelet.errors import UnsupportedModelError
from kernelet_quant_gguf.tokenizer.files import tokenizer_json
from kernelet_quant_gguf.tokenizer.sentencepiece import SPACE
from kernelet_quant_gguf.tokenizer.vocabulary import Vocabulary

PIECES = ["a", "b", "c", SPACE, "ab", "bc", "abc", f"{SPACE}a", f"{SPACE}ab", "ca", "cab", f"c{SPACE}"]
ALL = [*TOKENS[:259], *PIECES]
KINDS = [*TYPES[:259], *([1] * len(PIECES))]
scores = st.permutations(range(len(PIECES))).map(lambda order: [0.0] * 259 + [-float(rank) for rank in order])


def backend(tokens=TOKENS, types=TYPES, given_scores=SCORES, **fields):
    said = {"model": "llama", "tokens": tokens, "token_type": types, "scores": given_scores, "unknown_token_id": 0}
    found = Vocabulary.of({f"tokenizer.ggml.{key}": value for key, value in (said | fields).items()})
    return tokenizers.Tokenizer.from_str(json.dumps(tokenizer_json(found)))


def merged(text, given_scores):
    """SentencePiece's merging, written plainly: of all neighbours the pair whose piece has the highest score."""
    ids = {token: index for index, token in enumerate(ALL)}
    parts = list(SPACE + text.replace(" ", SPACE))
    while True:
        pairs = [(ids.get(one + other), place) for place, (one, other) in enumerate(itertools.pairwise(parts))]
        best = max(((given_scores[index], -place) for index, place in pairs if index is not None), default=None)
        if best is None:
            break
        place = -best[1]
        parts[place : place + 2] = ["".join(parts[place : place + 2])]
    return [index for part in parts for index in ([ids[part]] if part in ids else [3 + b for b in part.encode()])]


@given(text=st.text(alphabet="abc \u00e9", min_size=1, max_size=12), given_scores=scores)
def test_the_highest_score_is_merged_first_and_unknown_letters_are_bytes(text, given_scores):
    found = backend(ALL, KINDS, given_scores).encode(text, add_special_tokens=False).ids
    assert found == merged(text, given_scores)


def test_the_first_space_may_be_left_out():
    assert backend().encode("a", add_special_tokens=False).tokens == [f"{SPACE}a"]
    assert backend(add_space_prefix=False).encode("a", add_special_tokens=False).tokens == ["a"]


@given(text=st.text(alphabet="ab \u4e00\n", max_size=10))
def test_texts_come_back(text):
    for prefix in (True, False):
        found = backend(add_space_prefix=prefix)
        assert found.decode(found.encode(text, add_special_tokens=False).ids) == text


def test_without_scores_nothing_can_be_merged():
    with pytest.raises(UnsupportedModelError, match="scores"):
        backend(given_scores=[])
