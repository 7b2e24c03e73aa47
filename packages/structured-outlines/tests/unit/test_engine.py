from __future__ import annotations

import json
import re
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelet.contracts.offer import Settings
from kernelet.contracts.structured import EMPTY, Chars, Concat, GrammarRules, Repeat, Rule, Text, TokenVocabulary, Union
from kernelet.testing.grammar_engine.draw import drawn_rules
from kernelet.testing.grammar_engine.vocabulary import byte_vocabulary, make_vocabulary
from kernelet.testing.search import SEARCH
from kernelet_structured_outlines.engine import MOST_STATES, OutlinesEngine
from kernelet_structured_outlines.plugin import kernelet_grammar_engines

(OFFER,) = kernelet_grammar_engines()
SPACE = Repeat(Chars(((9, 10), (32, 32))), 0, 2)
WORD = Concat((Text('"'), Repeat(Chars(((32, 33), (35, 91), (93, 0xD7FF), (0xE000, 0x10FFFF))), 0, None), Text('"')))
OBJECT = GrammarRules(
    {
        "root": Concat(
            (Text("{"), SPACE, Repeat(Concat((Rule("pair"), Text(","), SPACE)), 0, 3), Rule("pair"), SPACE, Text("}"))
        ),
        "pair": Concat((WORD, Text(":"), SPACE, Union((WORD, Text("null"), Repeat(Chars(((49, 57),)), 1, None))))),
    }
)


@pytest.fixture(scope="module")
def engine() -> OutlinesEngine:
    return made(byte_vocabulary())


def made(vocabulary: TokenVocabulary) -> OutlinesEngine:
    return OutlinesEngine(Settings(plugin="outlines"), vocabulary)


def is_accepted(engine: OutlinesEngine, rules: GrammarRules, texts: list[str]) -> list[bool]:
    compiled = engine.load(engine.compile(rules))
    answers = [compiled.start() for _ in texts]
    return [
        answer.accept(list(text.encode())) and answer.can_end() for answer, text in zip(answers, texts, strict=True)
    ]


def python_regex(rules: GrammarRules, expression) -> str:
    match expression:
        case Text(text):
            return f"(?:{re.escape(text)})"
        case Chars(ranges):
            return "[" + "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges) + "]"
        case Rule(name):
            return python_regex(rules, rules.rules[name])
        case Concat(items):
            return f"(?:{''.join(python_regex(rules, item) for item in items)})"
        case Union(items):
            return f"(?:{'|'.join(python_regex(rules, item) for item in items)})"
        case Repeat(item, minimum, maximum):
            return f"(?:{python_regex(rules, item)}){{{minimum},{'' if maximum is None else maximum}}}"


def test_it_accepts_what_python_matches(engine):
    @settings(SEARCH, max_examples=40)
    @given(rules=drawn_rules(OFFER), texts=st.lists(st.text("ab0ä€\n\U0001f600", max_size=6), min_size=8, max_size=8))
    def same(rules, texts):
        regex = re.compile(python_regex(rules, rules.rules["root"]))
        assert is_accepted(engine, rules, texts) == [regex.fullmatch(text) is not None for text in texts]

    same()


def test_what_it_writes_of_json_is_json(engine):
    compiled = engine.load(engine.compile(OBJECT))
    random = Random(7)
    for _ in range(20):
        answer, text = compiled.start(), b""
        while not answer.must_end():
            tokens = [token for token in range(256) if answer.validate([token])]
            closing = [token for token in tokens if token in b'"}']
            token = random.choice(closing if closing and random.random() < 0.5 else tokens)
            answer.accept([token])
            text += bytes([token])
        assert answer.can_end()
        assert isinstance(json.loads(text, strict=False), dict)


@pytest.mark.parametrize(
    "expression, texts",
    [
        (Union((Text("a"), Text("ab"))), ["a", "ab"]),  # the library takes the first alternative that matches
        (Repeat(Union((EMPTY, Text("a"))), 0, 3), ["", "a", "aaa"]),
        (EMPTY, [""]),
        (Text("\U0010ffff"), ["\U0010ffff"]),  # what the library's expression begins with
        (Repeat(Text("\U0010ffff"), 0, None), ["", "\U0010ffff" * 3]),
    ],
)
def test_all_of_a_language_is_accepted_and_nothing_else(engine, expression, texts):
    others = ["a" * 4, "b", "aba", "\U0010ffff" * 2 + "a"]

    found = is_accepted(engine, GrammarRules({"root": expression}), [*texts, *others])
    assert found == [True] * len(texts) + [False] * len(others)


def test_what_takes_too_long_is_refused_before_it_is_tried(engine):
    digit = Chars(((48, 57),))
    rules = GrammarRules({"root": Repeat(Repeat(digit, 0, 900), 0, 900)})

    with pytest.raises(ValueError, match=f"about 810000 states of at most {MOST_STATES}"):
        engine.compile(rules)


def test_larger_vocabularies_allow_less():
    rules = GrammarRules({"root": Repeat(Chars(((48, 57),)), 0, 900)})
    tokens = [b"0", *[b"1"] * 500_000]

    with pytest.raises(ValueError, match="of at most 589"):
        made(make_vocabulary(tokens)).compile(rules)
