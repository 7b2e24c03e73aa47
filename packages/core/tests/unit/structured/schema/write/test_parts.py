from __future__ import annotations

from kernelet.contracts.structured import EMPTY, Chars, Repeat, Text, Union
from kernelet.structured.schema.write.parts import NOTHING, any_of, char_of, chars, digits, optional


def test_characters_become_ranges_with_gaps():
    assert char_of([98, 97, 99, 120]) == Chars(((97, 99), (120, 120)))
    assert digits([1, 2, 3, 5]) == Chars(((49, 51), (53, 53)))


def test_one_character_is_a_text():
    assert char_of([97]) == Text("a")
    assert chars([(97, 97)]) == Text("a")


def test_no_character_is_nothing():
    assert chars([]) == char_of([]) == NOTHING


def test_alternatives_are_flat_and_differ():
    assert any_of([Text("a"), Union((Text("b"), Text("a"))), NOTHING]) == Union((Text("a"), Text("b")))
    assert any_of([NOTHING, Text("a")]) == Text("a")


def test_optional():
    assert optional(Text("a")) == Repeat(Text("a"), 0, 1)
    assert optional(EMPTY) == EMPTY
