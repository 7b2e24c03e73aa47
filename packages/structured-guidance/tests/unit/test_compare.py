from __future__ import annotations

import pytest

from kernelet.contracts.structured import Chars, Concat, Repeat, Rule, Text, Union
from kernelet_structured_guidance.compare import (
    MOST_PAIRS,
    Alphabet,
    Comparison,
    Positions,
    TooLargeError,
    is_single,
    pairs,
)

LETTERS = Chars(((97, 122),))


class Everything:
    """All but rules and what holds them is a lexeme."""

    def is_lexeme(self, expression):
        return isinstance(expression, Text | Chars | Repeat)

    def divide(self, expression):
        return expression.items


def conflicts(*items):
    return Comparison(
        Everything(), {"root": Union((Concat(items), Concat((Text("("), Rule("root"), Text(")")))))}
    ).conflicts()


def test_alphabets_tell_apart_what_classes_do():
    alphabet = Alphabet([(97, 122), (100, 100)])
    low, middle, high = (alphabet.bits([one]) for one in ((97, 99), (100, 100), (101, 122)))

    assert low & middle == low & high == 0
    assert alphabet.bits([(97, 122)]) == low | middle | high
    assert alphabet.bits([(48, 48)]) & (low | middle | high) == 0


def test_positions_follow_each_other():
    positions = Positions({})
    ends = positions.add(Concat((Text("ab"), Repeat(LETTERS, 0, 5), Text("!"))))

    assert positions.after == [[1], [2, 3], [2, 3], []]
    assert (ends.first, ends.last, ends.nullable) == ([0], [3], False)


def test_a_match_that_goes_on_is_a_conflict():
    word = Repeat(LETTERS, 1, None)

    assert conflicts(word, Text("!")) == set()
    assert conflicts(word, Text("ab")) == {word, Text("ab")} or word in conflicts(word, Text("ab"))
    assert conflicts(Text("a"), Text("b"), Text("abc")) == {Text("abc")}


def test_too_many_pairs_are_not_walked_through():
    with pytest.raises(TooLargeError):
        list(pairs(range(MOST_PAIRS), [], []))


def test_where_there_is_too_much_to_compare_all_is_taken_apart():
    words = tuple(Text(f"{number:06}") for number in range(3000))

    assert conflicts(Union(words)) == set(words)


def test_single_characters():
    assert is_single(Text("a"))
    assert is_single(LETTERS)
    assert not is_single(Text("ab"))
    assert not is_single(Repeat(LETTERS, 1, None))
