from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelet.contracts.offer import Settings
from kernelet.contracts.structured import Chars, Concat, GrammarRules, Repeat, Rule, Text, Union
from kernelet.testing.grammar_engine.vocabulary import byte_vocabulary
from kernelet.testing.search import SEARCH
from kernelet_structured_guidance.engine import GuidanceEngine

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


@pytest.fixture(scope="module")
def engine() -> GuidanceEngine:
    return GuidanceEngine(Settings(plugin="guidance"), byte_vocabulary())


def is_whole(answer, text: str) -> bool:
    """Whether an answer that has begun no text takes this one to its end."""
    fork = answer.fork()
    return fork.accept(list(text.encode())) and fork.can_end()


def test_json_is_what_json_reads(engine):
    start = engine.load(engine.compile(JSON)).start()

    @settings(SEARCH, max_examples=40)
    @given(VALUES, st.data())
    def holds(value, data):
        text = json.dumps(value, ensure_ascii=False, indent=data.draw(st.sampled_from([None, 1])))
        assert is_whole(start, text) == (re.search(r"\s{9}", text) is None)
        place = data.draw(st.integers(0, len(text)))
        broken = text[:place] + data.draw(st.sampled_from('"{}[],:1a\\')) + text[place:]
        if is_whole(start, broken):
            json.loads(broken)

    holds()


@pytest.mark.parametrize(
    "rules, pattern",
    [
        ({"root": Concat((Repeat(Chars(((97, 122),)), 0, None), Text("ab")))}, "[a-z]*ab"),
        ({"root": Repeat(Union((Text("a"), Text("ab"), Text("ba"))), 2, 4)}, "(a|ab|ba){2,4}"),
        ({"root": Concat((Rule("x"), Rule("x"))), "x": Union((Text("a"), Concat((Text("b"), Rule("x")))))}, "(b*a){2}"),
    ],
)
def test_languages_are_those_of_regular_expressions(engine, rules, pattern):
    start = engine.load(engine.compile(GrammarRules(rules))).start()
    texts = [
        "".join("ab"[number >> place & 1] for place in range(size)) for size in range(8) for number in range(2**size)
    ]

    assert [text for text in texts if is_whole(start, text)] == [text for text in texts if re.fullmatch(pattern, text)]


def test_what_the_library_refuses_is_said_in_one_line(engine):
    with pytest.raises(ValueError, match="guidance cannot compile it: ") as found:
        engine.load(b"start: /[/")
    assert "\n" not in str(found.value)
    deep = "(" * 40 + '"a"' + ")" * 40
    with pytest.raises(ValueError, match=r"^guidance cannot compile it: lark grammar too deeply nested$"):
        engine.load(f"start: {deep}".encode())


def test_what_is_no_grammar_is_refused(engine):
    with pytest.raises(ValueError, match="there is no rule 'absent'"):
        engine.compile(GrammarRules({"root": Rule("absent")}))
    deep = Text("a")
    for _ in range(5000):
        deep = Union((deep,))
    with pytest.raises(ValueError, match="nested too deep"):
        engine.compile(GrammarRules({"root": deep}))
