from __future__ import annotations

import numpy as np
import pytest

from kernelet.contracts.offer import Settings
from kernelet.contracts.structured import MAX_ROLLBACK, Chars, GrammarRules, Repeat
from kernelet.testing.grammar_engine.vocabulary import make_vocabulary
from kernelet_structured_outlines.engine import OutlinesEngine

ANY = GrammarRules({"root": Repeat(Chars(((0, 0xD7FF), (0xE000, 0x10FFFF))), 0, None)})


def start(num_tokens: int, rules: GrammarRules = ANY):
    tokens = [bytes([97 + number % 26]) for number in range(num_tokens)]
    engine = OutlinesEngine(Settings(plugin="outlines"), make_vocabulary(tokens))
    return engine.load(engine.compile(rules)).start()


@pytest.mark.parametrize("num_tokens", [1, 30, 31, 32, 33, 62, 63, 64, 65, 96])
def test_the_tokens_behind_the_vocabulary_are_never_allowed(num_tokens):
    """One is the character that every regular expression begins with, which these rules allow; one ends a text."""
    answer = start(num_tokens)
    row = np.full(-(-num_tokens // 32), -1, np.int32)
    answer.fill_mask(row)

    assert np.unpackbits(row.view(np.uint8), bitorder="little").tolist() == [1] * num_tokens + [0] * (-num_tokens % 32)
    assert [answer.validate([token]) for token in (-1, num_tokens, num_tokens + 1, num_tokens + 99, 2**32, 2**70)] == [
        0
    ] * 6
    assert not answer.must_end()


def test_a_fork_of_a_long_answer_goes_back_as_far_as_its_origin():
    answer = start(26)
    assert answer.accept([number % 26 for number in range(1000)])
    fork = answer.fork()
    fork.rollback(MAX_ROLLBACK)

    assert fork.accept([1])
    assert answer.accept([2])


def test_a_text_whose_bytes_are_no_tokens_ends_where_none_fits():
    answer = start(3, GrammarRules({"root": Repeat(Chars(((98, 98), (0xE9, 0xE9))), 1, 1)}))
    row = np.zeros(1, np.int32)
    answer.fill_mask(row)

    assert row.tolist() == [0b010]
    assert start(1, GrammarRules({"root": Repeat(Chars(((98, 98), (0xE9, 0xE9))), 1, 1)})).must_end()


@pytest.mark.parametrize("count", [-1, 3, MAX_ROLLBACK + 1])
def test_tokens_that_were_not_accepted_are_not_taken_back(count):
    answer = start(26, GrammarRules({"root": Repeat(Chars(((97, 98),)), 3, 3)}))
    answer.accept([0, 1])
    with pytest.raises(ValueError, match="cannot be taken back"):
        answer.rollback(count)

    assert answer.validate([0, 0]) == 1
