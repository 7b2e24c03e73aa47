from __future__ import annotations

import re

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from random_regexes import TEXTS, as_python, patterns

from kernelet.structured.automata.budget import TooLargeError
from kernelet.structured.automata.parse import parse_pattern, parse_regex
from kernelet.structured.automata.questions import Matcher, matches
from kernelet.structured.automata.syntax import EPSILON, EVERYTHING, NOTHING, chars, literal, repeat
from kernelet.structured.refusal import InvalidConstraintError, UnenforcedError

SEVERAL = st.lists(TEXTS, min_size=6, max_size=6)
OTHERS = ("K", "[a-k]", "\u017f", "\\A", "[^\\S\\n]")


@given(patterns(), SEVERAL)
def test_patterns_are_found_as_the_standard_says(pattern, texts):
    found = Matcher(parse_pattern(pattern))
    python = as_python(pattern)
    for text in texts:
        assert found(text) == (python.search(text) is not None), (pattern, text)


@settings(max_examples=40)
@given(patterns(more=OTHERS[:3]), SEVERAL, st.sampled_from(["", "i", "s", "is"]))
def test_a_whole_text_is_matched_as_python_does(pattern, texts, flags):
    python = re.compile(f"(?{flags}:{pattern})" if flags else pattern)
    try:
        found = Matcher(parse_regex(pattern, flags))
    except UnenforcedError:
        found = None
    if found is None:
        event("refused")
        with pytest.raises(UnenforcedError, match="last line feed"):
            parse_regex(pattern, flags)
        return
    for text in (*texts, texts[0] + "\n"):
        assert found(text) == (python.fullmatch(text) is not None), (pattern, text)


@pytest.mark.parametrize(
    "pattern",
    [
        *(
            "(?P<name>a)b",
            "(?:a|b)+?",
            "(?#note)a",
            "(?i)aK",
            "(?is:a.)b",
            "(?x) a # b\n b",
            "a{,2}",
            "x{,}",
            "a{b",
            "a{1",
        ),
        *(
            "a]",
            "a}",
            "[]]",
            "(?-i:a)",
            "(?i:a(?-i:b))",
            "\\Aab\\Z",
            "^*" if False else "a|",
            "()",
            "(|a)",
            "\\.\\-\\/",
        ),
    ],
)
def test_forms_that_python_knows(pattern):
    found = Matcher(parse_regex(pattern))
    texts = ["", "a", "b", "ab", "aB", "Ab", "ak", "AK", "a\u212a", "aa", "aaa", "a{b", "a{1", "a]", "a}", "]", "x{,}"]
    texts += ["a\nb", "A\nb", "a\nB", ".-/", "xxx", "AB"]
    assert [t for t in texts if found(t)] == [t for t in texts if re.fullmatch(pattern, t)]


@pytest.mark.parametrize(
    "pattern, texts, others",
    [
        ("(?<year>\\d{4})", ["x1999"], ["199"]),
        ("^\\u{1F600}\\ud83d\\ude00$", ["\U0001f600\U0001f600"], ["\U0001f600"]),
        ("^\\cA[\\b]$", ["\x01\b"], []),
        ("^[^]$", ["a", "\n"], ["", "ab"]),
        ("[]", [], ["", "a"]),
        ("^{}]$", ["{}]"], ["{}"]),
        ("^a{,2}$", ["a{,2}"], ["aa", ""]),
        ("^.$", ["\x85"], ["\n", "\r", "\u2028", "\u2029"]),
        ("^\\p{Lu}\\P{L}$", ["É1"], ["é1", "ÉÉ"]),
        ("^\\d$", ["7"], ["٣"]),
        ("^a$", ["a"], ["a\n"]),
    ],
)
def test_forms_of_ecma(pattern, texts, others):
    found = Matcher(parse_pattern(pattern))
    assert all(map(found, texts)) and not any(map(found, others))


@pytest.mark.parametrize(
    "pattern, place",
    [
        *(("a(b", 2), ("[a", 1), ("*a", 1), ("a**", 3), ("a{2}{3}", 5), ("a{3,1}", 2), ("^*", 2), ("ab)", 3)),
        *(("a|*", 3), ("a\\", 2), ("(?P<1>a)", 1), ("(?<a", 1), ("a{2,1}", 2), ("(?", 1), ("[b-a]", 3)),
    ],
)
@pytest.mark.parametrize("parse", [parse_pattern, parse_regex])
def test_what_does_not_parse_is_an_error_with_its_place(parse, pattern, place):
    with pytest.raises(InvalidConstraintError, match=f"^regex, character {place}: "):
        parse(pattern)
    with pytest.raises(re.error):
        re.compile(pattern)


@pytest.mark.parametrize(
    "pattern, place",
    [("^(?=a)b$", 2), ("(?!a)", 1), ("x(?<=a)", 2), ("(?<!a)", 1), ("(a)\\1", 4), ("a\\b", 2), ("\\B", 1)],
)
@pytest.mark.parametrize("parse", [parse_pattern, parse_regex])
def test_what_no_grammar_enforces_is_refused_with_its_place(parse, pattern, place):
    with pytest.raises(UnenforcedError) as refused:
        parse(pattern)
    assert [one.path for one in refused.value.refusals] == [f"regex, character {place}"]


@pytest.mark.parametrize("pattern", ["(?>a)", "(?P=n)", "(?(1)a)", "a*+", "(?m)a", "(?a:b)", "(^a|b){9}"])
def test_more_that_is_refused_in_pythons_dialect(pattern):
    with pytest.raises(UnenforcedError):
        parse_regex(pattern)


def test_flags_of_the_whole_stand_at_its_start():
    with pytest.raises(InvalidConstraintError, match="character 2: flags"):
        parse_regex("a(?i)b")
    with pytest.raises(InvalidConstraintError):
        parse_pattern("(?i)b")


@pytest.mark.parametrize("pattern", ["a$\n", "(a$|b)\\s", "(a$|\n)*", "$\\n?"])
def test_a_dollar_before_a_last_line_feed_is_refused(pattern):
    with pytest.raises(UnenforcedError, match="last line feed"):
        parse_regex(pattern)


def test_lazy_repeats_may_be_refused():
    assert parse_regex("a+?b") == parse_regex("a+b")
    with pytest.raises(UnenforcedError, match="character 2: lazy"):
        parse_regex("a+?b", lazy=False)


@pytest.mark.parametrize(
    "pattern, same",
    [
        ("(a*)*", repeat(literal("a"), 0, None)),
        ("((a{1,100}){1,100}){1,100}", repeat(literal("a"), 1, 1_000_000)),
        (".{0,5000}", repeat(chars([(0, 9), (11, 0x10FFFF)]), 0, 5000)),
        ("(" * 3000 + ")" * 3000, EPSILON),
        ("(" * 3000 + "a" + ")" * 3000, literal("a")),
        ("^" * 3000, EPSILON),
        ("a^b", NOTHING),
    ],
    ids=range(7),
)
def test_adversarial_patterns_stay_small(pattern, same):
    assert parse_regex(pattern) == same


def test_nested_operators_are_bounded():
    with pytest.raises(TooLargeError, match="nested"):
        parse_pattern("(" * 300 + "a" + "b)*" * 300)


def test_patterns_from_the_field():
    assert parse_pattern("^(|.*)$") != EVERYTHING
    assert matches(parse_pattern("^(|.*)$"), "") and not matches(parse_pattern("^(|.*)$"), "\n")
    bounded = parse_pattern("^[^\\n\\r]{1,129}$")
    assert bounded.facts.size == 2 and bounded.facts.longest == 129
    letters = Matcher(parse_pattern("[à-ÿ]+"))
    assert letters("caña") and not letters("cana")
    quick = Matcher(parse_regex("(a|aa)*b"))
    assert quick("a" * 500 + "b") and not quick("a" * 500)


@pytest.mark.parametrize(
    "pattern, says",
    [("(?i)abc", "patterns of ECMA-262 hold no flags"), (r"\Aabc\Z", r"\^ and \$ are where the text begins and ends")],
)
def test_what_other_dialects_have_is_told_apart(pattern, says):
    with pytest.raises(InvalidConstraintError, match=f"character 1: .*{says}"):
        parse_pattern(pattern)
