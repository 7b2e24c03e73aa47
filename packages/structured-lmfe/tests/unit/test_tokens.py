from __future__ import annotations

import sys

import numpy as np
import pytest

from kernelet.contracts.structured import Chars, GrammarRules, Repeat
from kernelet.testing.grammar_engine.vocabulary import byte_vocabulary, make_vocabulary
from kernelet_structured_lmfe.graph import graph_of
from kernelet_structured_lmfe.place import Places
from kernelet_structured_lmfe.tokens import LONGEST, Tokens

LETTERS = GrammarRules({"root": Repeat(Chars(((97, 122),)), 0, None)})


def allowed(token_bytes: list[bytes], rules: GrammarRules = LETTERS) -> list[int]:
    row = Tokens(make_vocabulary(token_bytes)).row(Places(graph_of(rules)).start)
    return np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist()


@pytest.mark.parametrize("length", [LONGEST, LONGEST + 1, 5000])
def test_tokens_may_be_long(length):
    """The library calls itself for every byte."""
    assert length <= LONGEST or length > LONGEST
    tokens = [b"a", b"a" * length, b"a" * (length - 1) + b"0", b"", b"b" * length]

    assert allowed(tokens) == [0, 1, 4]
    assert sys.getrecursionlimit() // 3 > LONGEST


def test_a_mask_is_kept_with_its_place():
    tokens, start = Tokens(byte_vocabulary()), Places(graph_of(LETTERS)).start

    assert tokens.row(start) is tokens.row(start)
    start.places.forget()
    assert start.row is None
    assert tokens.row(start)[3] == 0b111111111111111111111111110


def test_an_error_is_not_an_empty_mask(monkeypatch):
    """The library logs what it does not know, and goes on."""
    places = Places(graph_of(LETTERS))
    monkeypatch.setattr(Places, "step", lambda *_: 1 / 0)

    with pytest.raises(Exception, match="ZeroDivisionError"):
        Tokens(byte_vocabulary()).row(places.start)
