"""What engines accept is what others read: JSON by `json`, regular languages by `re`, for the same rules."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from structured_engines import accepts

from kernelet.contracts.structured import Chars, Concat, GrammarRules, Repeat, Rule, Text, Union
from kernelet.testing.search import SEARCH

SPACE = Repeat(Chars(((9, 10), (13, 13), (32, 32))), 0, 8)
DIGITS = Repeat(Chars(((48, 57),)), 1, None)
COMMA = Concat((SPACE, Text(","), SPACE))


def listed(item):
    """None, or some with commas between."""
    return Repeat(Concat((item, Repeat(Concat((COMMA, item)), 0, None))), 0, 1)


JSON = GrammarRules(
    {
        "root": Union((Rule("object"), Rule("array"), Rule("string"), Rule("number"), *map(Text, ("true", "null")))),
        "object": Concat((Text("{"), SPACE, listed(Rule("member")), SPACE, Text("}"))),
        "member": Concat((Rule("string"), SPACE, Text(":"), SPACE, Rule("root"))),
        "array": Concat((Text("["), SPACE, listed(Rule("root")), SPACE, Text("]"))),
        "string": Concat(
            (
                Text('"'),
                Repeat(
                    Union(
                        (
                            Chars(((32, 33), (35, 91), (93, 0xD7FF), (0xE000, 0x10FFFF))),
                            Concat((Text("\\"), Chars(tuple((ord(one), ord(one)) for one in '"/\\bfnrt')))),
                        )
                    ),
                    0,
                    None,
                ),
                Text('"'),
            )
        ),
        "number": Concat((Repeat(Text("-"), 0, 1), DIGITS, Repeat(Concat((Text("."), DIGITS)), 0, 1))),
    }
)
VALUES = st.recursive(
    st.none() | st.just(True) | st.integers() | st.text(st.characters(exclude_categories=["Cs", "Cc"])),
    lambda values: st.lists(values) | st.dictionaries(st.text('ab,:" é😀'), values),
    max_leaves=8,
)


REGULAR = {
    "[a-z]*ab": {"root": Concat((Repeat(Chars(((97, 122),)), 0, None), Text("ab")))},
    "(a|ab|ba){2,4}": {"root": Repeat(Union((Text("a"), Text("ab"), Text("ba"))), 2, 4)},
    "(b*a){2}": {"root": Concat((Rule("x"), Rule("x"))), "x": Union((Text("a"), Concat((Text("b"), Rule("x")))))},
}


def begin(engine, rules):
    """Where texts begin. An engine without recursion, of which there is one, skips rules that have some."""
    if not engine.takes(rules):
        assert not engine.offer.recursion
        pytest.skip("it takes no rules that refer to themselves")
    return engine.start(rules)


def test_json_is_what_json_reads(engine):
    start = begin(engine, JSON)

    @settings(SEARCH, max_examples=40)
    @given(VALUES, st.data())
    def holds(value, data):
        text = json.dumps(value, ensure_ascii=False, indent=data.draw(st.sampled_from([None, 1])))
        assert accepts(start, text) == (re.search(r"\s{9}", text) is None)
        place = data.draw(st.integers(0, len(text)))
        broken = text[:place] + data.draw(st.sampled_from('"{}[],:1a\\')) + text[place:]
        if accepts(start, broken):
            json.loads(broken)

    holds()


@pytest.mark.parametrize("pattern", REGULAR)
def test_languages_are_those_of_regular_expressions(engine, pattern):
    start = begin(engine, GrammarRules(REGULAR[pattern]))
    texts = [
        "".join("ab"[number >> place & 1] for place in range(size)) for size in range(8) for number in range(2**size)
    ]

    assert [text for text in texts if accepts(start, text)] == [text for text in texts if re.fullmatch(pattern, text)]


def test_what_is_no_grammar_is_refused(engine):
    with pytest.raises(ValueError, match="there is no rule 'absent'"):
        engine.start(GrammarRules({"root": Rule("absent")}))


def test_what_is_nested_too_deep_is_refused(engine):
    deep = Text("a")
    for _ in range(5000):
        deep = Union((deep,))
    with pytest.raises(ValueError, match="nested too deep"):
        engine.start(GrammarRules({"root": deep}))
