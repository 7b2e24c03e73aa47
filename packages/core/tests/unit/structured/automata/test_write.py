from __future__ import annotations

import pytest
from derived_words import derived_words
from hypothesis import given
from random_regexes import languages

from kernelet.contracts.structured import Chars, Concat, Repeat, Text, Union
from kernelet.structured.automata.alphabet import size
from kernelet.structured.automata.budget import TooLargeError
from kernelet.structured.automata.parse import parse_pattern, parse_regex
from kernelet.structured.automata.questions import Matcher
from kernelet.structured.automata.syntax import ANY, EPSILON, NOTHING, both, complement, concat, literal, repeat, union
from kernelet.structured.automata.write import expression_of, rules_of_regex
from kernelet.structured.refusal import InvalidConstraintError
from kernelet.structured.rules import RuleWriter, count_expressions, is_recursive, largest_repeat
from kernelet.testing.grammar_engine.reference import recognizes


@given(languages())
def test_the_rules_derive_the_language(language):
    try:
        rules = rules_of_regex(language.regex)
    except InvalidConstraintError:
        assert not language.texts
        return
    assert derived_words(rules, "abc", 4) == language.texts


def test_what_is_plain_is_written_as_it_stands():
    assert expression_of(parse_regex("ab[a-z]{1,5000}(x|yz)?")) == Concat(
        (
            Text("ab"),
            Repeat(Chars(((0x61, 0x7A),)), 1, 5000),
            Repeat(Union((Concat((Text("yz"),)).items[0], Text("x"))), 0, 1),
        )
    )
    assert expression_of(EPSILON) == Concat(())
    assert expression_of(literal("aab")) == Text("aab")


@pytest.mark.parametrize(
    "regex, expressions",
    [
        (both(parse_pattern("^[a-z]{1,5000}$"), repeat(ANY, 3, 4000)), 2),
        (both(parse_pattern("^[A-Z]{2}[0-9]+$"), repeat(ANY, 0, 5000)), 5),
        (complement(union(*(literal(f"name{number}") for number in range(10)))), 60),
        (both(parse_pattern("b"), repeat(ANY, 3, 100)), 900),
        (both(parse_pattern("^[a-z]+(-[a-z]+)*$"), repeat(ANY, 3, 200)), 2500),
        (both(parse_pattern("^\\S+@\\S+$"), repeat(ANY, 5, 64)), 1200),
        (both(*map(parse_pattern, "abcd")), 250),
    ],
    ids=range(7),
)
def test_conditions_that_schemas_have_stay_small_and_do_not_refer_to_themselves(regex, expressions):
    rules = rules_of_regex(regex)
    assert count_expressions(rules) <= expressions
    assert not is_recursive(rules)


def test_rules_of_bounded_lengths_are_exact():
    regex = both(parse_pattern("^[a-z]+(-[a-z]+)*$"), repeat(ANY, 3, 30))
    rules, matches = rules_of_regex(regex), Matcher(regex)
    for text in ["ab", "abc", "a-b", "a-", "a--b", "-ab", "a" * 30, "a" * 31, "a-" * 14 + "ab", "a-" * 15 + "a"]:
        assert recognizes(rules, text) == matches(text), text


def test_circles_that_are_too_large_become_rules_that_name_each_other():
    regex = both(parse_regex("(a{7}|b)*"), parse_regex("(a{6}|b)*"), parse_regex("(b{5}|a)*"))
    rules = rules_of_regex(regex)
    assert is_recursive(rules)
    matches = Matcher(regex)
    for text in ["", "b" * 5, "a" * 42, "a" * 42 + "b" * 10 + "a" * 42, "a" * 41, "b" * 4, "a" * 42 + "b", "bbbbba"]:
        assert recognizes(rules, text) == matches(text), text
    with pytest.raises(TooLargeError):
        expression_of(regex)


def test_a_class_is_written_as_one_likes_and_once():
    written = []

    def character(ranges):
        written.append(ranges)
        return Text(str(size(ranges)))

    expression = expression_of(concat(parse_regex("[ab]+"), parse_regex("x[ab]")), character)
    assert expression == Concat((Repeat(Text("2"), 1, None), Text("12")))
    assert len(written) == 2


def test_a_language_without_texts_has_no_grammar():
    writer = RuleWriter()
    for regex in (NOTHING, both(literal("a"), parse_pattern("b"))):
        with pytest.raises(InvalidConstraintError, match="no text"):
            expression_of(regex, rules=writer)
    empty = both(literal("a"), complement(parse_pattern("a")))
    assert expression_of(union(empty, literal("x"))) == Text("x")
    assert expression_of(repeat(empty, 0, 5)) == Concat(())
    with pytest.raises(InvalidConstraintError):
        rules_of_regex(concat(literal("x"), empty))


def test_counts_stay_counted():
    assert largest_repeat(rules_of_regex(parse_pattern("^[^\\n\\r]{1,129}$"))) == 129
    assert count_expressions(rules_of_regex(parse_regex(".{0,5000}"))) == 2
