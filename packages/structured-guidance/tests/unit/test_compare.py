from __future__ import annotations

import pytest

from kernelet.contracts.structured import Chars, Concat, Repeat, Rule, Text, Union
from kernelet_structured_guidance.compare import (
    MOST_CLASSES,
    Alphabet,
    Budget,
    Comparison,
    Positions,
    TooLargeError,
    is_single,
    pairs,
    places_of,
)

LETTERS = Chars(((97, 122),))


class Everything:
    """All but rules and what holds them is a lexeme."""

    def is_lexeme(self, expression):
        return isinstance(expression, Text | Chars | Repeat)

    def divide(self, expression):
        return expression.items


def conflicts(*items, work=100_000):
    rules = {"root": Union((Concat(items), Concat((Text("("), Rule("root"), Text(")")))))}
    return Comparison(Everything(), rules, Budget(work)).conflicts()


def test_alphabets_tell_apart_what_classes_do():
    alphabet = Alphabet([(97, 122), (100, 100)])
    low, middle, high = (alphabet.bits([one]) for one in ((97, 99), (100, 100), (101, 122)))

    assert low & middle == low & high == 0
    assert alphabet.bits([(97, 122)]) == low | middle | high
    assert alphabet.bits([(48, 48)]) & (low | middle | high) == 0


def test_positions_follow_each_other():
    positions = Positions({}, Budget(100))
    ends = positions.add(Concat((Text("ab"), Repeat(LETTERS, 0, 5), Text("!"))))
    end, letter, b, a = range(4)

    assert positions.ranges == [((33, 33),), ((97, 122),), ((98, 98),), ((97, 97),)]
    assert positions.after == [[], [end, letter], [end, letter], [b]]
    assert (ends.first, ends.last, ends.nullable) == ([a], [end], False)


def test_positions_of_what_may_be_empty_follow_themselves():
    positions = Positions({"item": Repeat(LETTERS, 0, 1)}, Budget(100))
    ends = positions.add(Repeat(Rule("item"), 1, None))

    assert positions.after == [[0]]
    assert ends == ([0], [0], True)


def test_what_goes_on_in_the_same_way_is_one_position():
    positions = Positions({"rest": Repeat(LETTERS, 0, None)}, Budget(100))
    positions.add(Union(tuple(Concat((Text(first), Rule("rest"))) for first in "0123456789")))

    assert len(positions.ranges) == 11
    positions.add(Rule("rest"))
    assert len(positions.ranges) == 12


def test_a_match_that_goes_on_is_a_conflict():
    word = Repeat(LETTERS, 1, None)

    assert conflicts(word, Text("!")) == set()
    assert conflicts(word, Text("ab")) == {word, Text("ab")} or word in conflicts(word, Text("ab"))
    assert conflicts(Text("a"), Text("b"), Text("abc")) == {Text("abc")}


def test_pairs_are_those_that_one_text_reaches():
    """Twice ``a``, then ``b`` or ``c`` and both of them."""
    a, b, c = 1, 2, 4
    found = pairs([0, 2], [[1], [], [3], []], [a, b, a, b | c], Budget(100))

    assert {one: list(places_of(others)) for one, others in found.items()} == {
        0: [0, 2],
        2: [0, 2],
        1: [1, 3],
        3: [1, 3],
    }


def test_too_many_pairs_are_not_walked_through():
    with pytest.raises(TooLargeError):
        pairs(range(100), [[]] * 100, [1] * 100, Budget(5000))
    with pytest.raises(TooLargeError):
        pairs([], [], range(1, MOST_CLASSES + 2), Budget(5000))


def test_where_there_is_too_much_to_compare_all_is_taken_apart():
    words = tuple(Text(f"{number:06}") for number in range(3000))

    assert conflicts(Union(words), work=3000) == set(words)


def test_single_characters():
    assert is_single(Text("a"))
    assert is_single(LETTERS)
    assert not is_single(Text("ab"))
    assert not is_single(Repeat(LETTERS, 1, None))
