from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelet.structured.automata.budget import TooLargeError
from kernelet.structured.automata.parse import parse_pattern
from kernelet.structured.refusal import Refusal, UnenforcedError
from kernelet.structured.schema.algebra.facts import Format, Matches, NoneOf, OneOf, SizeAtLeast, SizeAtMost
from kernelet.structured.schema.finish import strings
from kernelet.structured.schema.finish.strings import allows_text, string_shape
from kernelet.structured.schema.shapes import StringShape

TEXTS = ["".join(letters) for size in range(5) for letters in product("ab", repeat=size)]
EXPRESSIONS = {
    "^a": lambda text: text.startswith("a"),
    "b$": lambda text: text.endswith("b"),
    "aa": lambda text: "aa" in text,
}
FEW = st.frozensets(st.sampled_from(TEXTS[:8]), min_size=1)
FACTS = st.one_of(
    st.builds(SizeAtLeast, st.integers(0, 4)),
    st.builds(SizeAtMost, st.integers(0, 4)),
    st.builds(Matches, st.sampled_from(list(EXPRESSIONS)).map(parse_pattern), st.booleans()),
    st.builds(OneOf, FEW),
    st.builds(NoneOf, FEW),
)


def holds(fact, text):
    match fact:
        case SizeAtLeast(count):
            return len(text) >= count
        case SizeAtMost(count):
            return len(text) <= count
        case Matches(language, inside):
            (found,) = [check for pattern, check in EXPRESSIONS.items() if parse_pattern(pattern) == language]
            return found(text) == inside
        case OneOf(values):
            return text in values
        case NoneOf(values):
            return text not in values


@settings(max_examples=50, deadline=None)
@given(st.lists(FACTS, max_size=4))
def test_shapes_say_what_facts_say(facts):
    shape = string_shape(frozenset(facts), "")
    expected = [text for text in TEXTS if all(holds(fact, text) for fact in facts)]
    assert [text for text in TEXTS if shape is not None and allows_text(shape, text)] == expected


@pytest.mark.parametrize(
    "facts",
    [
        [SizeAtLeast(3), SizeAtMost(2)],
        [SizeAtMost(0), NoneOf(frozenset({""}))],
        [Matches(parse_pattern("^a$")), NoneOf(frozenset({"a"}))],
        [Matches(parse_pattern("^ab*$")), Matches(parse_pattern("^b"))],
        [Matches(parse_pattern("^a{3}$")), SizeAtMost(2)],
        [Matches(parse_pattern("")), Matches(parse_pattern(".|^$|\\n|\\r|\\u2028|\\u2029"), inside=False)],
        [OneOf(frozenset({"a"})), Format("date")],
    ],
)
def test_nothing_is_left(facts):
    assert string_shape(frozenset(facts), "") is None


def test_lists_of_texts_satisfy_the_rest():
    facts = {OneOf(frozenset({"2020-01-01", "2020-13-01", "x"})), Format("date"), NoneOf(frozenset({"x"}))}
    assert string_shape(frozenset(facts), "") == StringShape(values=frozenset({"2020-01-01"}))


def test_what_takes_too_long_is_refused(monkeypatch):
    def give_up(regex):
        raise TooLargeError("too many states")

    monkeypatch.setattr(strings, "is_empty", give_up)
    facts = {Matches(parse_pattern("^a"), path="/pattern"), Matches(parse_pattern("b$"), path="/pattern")}
    with pytest.raises(UnenforcedError) as caught:
        string_shape(frozenset(facts), "")
    assert caught.value.refusals == (Refusal("/pattern", "regex: too many states"),)
