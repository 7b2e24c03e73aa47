from __future__ import annotations

import numpy as np
import pytest

from kernelet.contracts.offer import Settings
from kernelet.contracts.structured import Chars, Concat, GrammarRules, Repeat, Text
from kernelet.testing.grammar_engine.vocabulary import make_vocabulary
from kernelet_structured_xgrammar.engine import XGrammarEngine

ANY = GrammarRules({"root": Repeat(Chars(((0, 0xD7FF), (0xE000, 0x10FFFF))), 0, None)})


def start(num_tokens: int, rules: GrammarRules = ANY):
    tokens = [bytes([97 + number % 26]) for number in range(num_tokens)]
    engine = XGrammarEngine(Settings(plugin="xgrammar"), make_vocabulary(tokens))
    return engine.load(engine.compile(rules)).start()


@pytest.mark.parametrize("num_tokens", [1, 31, 32, 33, 63, 64])
def test_the_tokens_behind_the_vocabulary_are_never_allowed(num_tokens):
    answer = start(num_tokens)
    row = np.full(-(-num_tokens // 32), -1, np.int32)
    answer.fill_mask(row)

    assert np.unpackbits(row.view(np.uint8), bitorder="little").tolist() == [1] * num_tokens + [0] * (-num_tokens % 32)
    assert [answer.validate([token]) for token in (-1, num_tokens, 2**32, 2**70)] == [0] * 4
    assert not answer.must_end()


def test_a_forced_text_may_be_cut_in_any_way():
    tokens = [b"a", b"b", b"ab", b"abc", b"c", b"x", b"abcd"]
    engine = XGrammarEngine(Settings(plugin="xgrammar"), make_vocabulary(tokens))
    answer = engine.load(engine.compile(GrammarRules({"root": Concat((Text("abc"), Text("x")))}))).start()
    row = np.zeros(1, np.int32)
    answer.fill_mask(row)

    assert row.tolist() == [0b0001101]
    assert answer.forced() == b"abcx"


def test_texts_that_look_like_stop_tokens_are_texts():
    """The library would take ``</s>`` for one if none were named."""
    engine = XGrammarEngine(Settings(plugin="xgrammar"), make_vocabulary([b"</s>", b"<|endoftext|>", b"a", b""], [3]))
    answer = engine.load(engine.compile(ANY)).start()
    row = np.zeros(1, np.int32)
    answer.fill_mask(row)

    assert row.tolist() == [0b0111]
    assert answer.accept([0, 1, 2])
    assert not answer.accept([3])
