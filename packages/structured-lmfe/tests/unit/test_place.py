from __future__ import annotations

import gc

import pytest
from lmformatenforcer import CharacterLevelParser, LMFormatEnforcerException

from kernelet.contracts.structured import Chars, Concat, GrammarRules, Repeat, Rule, Text, Union
from kernelet_structured_lmfe import place as module
from kernelet_structured_lmfe.graph import graph_of
from kernelet_structured_lmfe.place import Place, Places

NESTED = {"root": Union((Concat((Text("("), Rule("root"), Text(")"))), Chars(((48, 57),))))}


def places(**rules) -> Places:
    return Places(graph_of(GrammarRules(rules)))


def latin(text: str) -> str:
    return text.encode().decode("latin-1")


def test_it_is_what_the_library_asks_for():
    start = places(root=Concat((Text("aé"), Repeat(Text("b"), 0, 1)))).start

    assert isinstance(start, CharacterLevelParser)
    assert start.get_allowed_characters() == {"a"}
    inside = start.add_character("a").add_character("\xc3")
    assert inside.get_allowed_characters() == {"\xa9"}
    assert not inside.can_end()
    assert inside.add_character("\xa9").can_end()
    assert start.get_allowed_characters() == {"a"}  # nothing has changed


def test_a_character_that_is_not_allowed_is_an_error_that_the_library_lets_through():
    with pytest.raises(LMFormatEnforcerException):
        places(root=Text("a")).start.add_character("b")


def test_bytes_that_fit_lead_somewhere():
    start = places(root=Repeat(Chars(((0x20AC, 0x20AC), (0x1F600, 0x1F64F))), 0, None)).start

    assert start.after(latin("€\U0001f600€")) is start.after(latin("€"))
    assert start.after(latin("€")[:2]).pending == b"\xe2\x82"
    assert start.after(latin("ä")) is None
    assert start.after("\xf0\x9f\x98\xff") is None


def test_there_is_one_place_for_each_state():
    start = places(root=Repeat(Text("ab"), 0, None)).start

    assert start.after("abababab") is start.after("ab")


def down(place: Place, levels: int) -> Place:
    for _ in range(levels):
        place = place.add_character("(")
    return place


def test_what_is_kept_is_bounded_and_answers_do_not_notice(monkeypatch):
    """Every depth of brackets is a place of its own."""
    monkeypatch.setattr(module, "MOST_BYTES", 100_000)
    made = places(**NESTED)
    before = objects()
    for number in range(8):
        place = down(made.start, 200 + number).add_character("0")
        for _ in range(199 + number):
            place = place.add_character(")")
        assert place.get_allowed_characters() == {")"}
        assert place.add_character(")").can_end()

    assert objects() - before < 400


def objects() -> int:
    gc.collect()
    return sum(type(one) is Place for one in gc.get_objects())


def test_what_is_dropped_while_it_is_used_is_made_again():
    made = places(**NESTED)
    place = down(made.start, 10)
    made.forget()

    assert place.get_allowed_characters() == {"(", *"0123456789"}
    assert place.after("0" + ")" * 10).can_end()
    assert place.after("0" + ")" * 11) is None
