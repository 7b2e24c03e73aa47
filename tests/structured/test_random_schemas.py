"""Texts that are sampled under masks: what was asked for is what comes out, for random constraints of every kind."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from random import Random
from typing import NamedTuple

import jsonschema
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from random_constraints import random_choice, random_grammar, random_pattern, random_schema
from structured_engines import NAMES, VOCABULARY, accepts, sample, serve
from way_out import WayOut

from kernelet.structured.automata.parse import parse_regex
from kernelet.structured.automata.write import rules_of_regex
from kernelet.structured.choice import choice_rules
from kernelet.structured.ebnf import parse_grammar
from kernelet.structured.refusal import InvalidConstraintError, UnenforcedError
from kernelet.structured.schema.lower import lower_schema
from kernelet.structured.schema.options import JsonOptions
from kernelet.testing.grammar_engine.reference import recognizes
from kernelet.text.tokenizer import Tokenizer
from kernelet.text.vocabulary import token_vocabulary

FEW, MANY, ON_DEMO = 12, 5000, 100
"""Samples of each kind of constraint and engine: in CI, in `hatch run test-long`, and there with the demo tokenizer."""
AT_ONCE = 4
"""Samples of one constraint."""


class Kind(NamedTuple):
    """A kind of constraint.

    Attributes:
        draw: One of them.
        lower: Its rules.
        wrong: Why a text is not of it, by an independent judge; empty: it is.
    """

    draw: Callable
    lower: Callable
    wrong: Callable


def wrong_value(schema, text):
    checker = jsonschema.Draft202012Validator.FORMAT_CHECKER
    errors = jsonschema.Draft202012Validator(schema, format_checker=checker).iter_errors(json.loads(text))
    return "; ".join(error.message for error in errors)


KINDS = {
    "schema": Kind(random_schema, lambda one: lower_schema(one, JsonOptions()), wrong_value),
    "regex": Kind(
        random_pattern,
        lambda one: rules_of_regex(parse_regex(one)),
        lambda one, text: "" if re.fullmatch(one, text) else "no match",
    ),
    "choice": Kind(random_choice, choice_rules, lambda one, text: "" if text in one else "no choice"),
    "grammar": Kind(
        random_grammar,
        parse_grammar,
        lambda one, text: "" if recognizes(parse_grammar(one), text) else "not derived",
    ),
}


def check(kind, served, count):
    """So many texts for constraints that core and the engine take, or more."""
    found = 0

    @settings(max_examples=-(-count // AT_ONCE), suppress_health_check=list(HealthCheck))
    @given(drawn=st.randoms(), seed=st.integers(0, 2**32 - 1))
    def texts(drawn, seed):
        nonlocal found
        constraint = kind.draw(drawn)
        try:
            rules = kind.lower(constraint)
        except (UnenforcedError, InvalidConstraintError):
            rules = None
        assume(rules is not None and served.takes(rules))
        try:
            start, random = served.start(rules), Random(seed)
        except ValueError:  # which is the engine's to say
            assume(False)
        way_out = WayOut(rules)
        for _ in range(AT_ONCE):
            text = sample(start.fork(), random, way_out, vocabulary=served.vocabulary, hint=str(constraint))
            assert text is not None, f"a text for {constraint!r} did not end"
            complaint = kind.wrong(constraint, text)
            assert not complaint, f"{text!r} for {constraint!r}: {complaint}"
            assert served.vocabulary is not VOCABULARY or accepts(start, text)
            found += 1

    texts()
    assert found >= count


@pytest.mark.parametrize("kind", KINDS)
def test_samples(kind, engine):
    check(KINDS[kind], engine, FEW)


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_many_samples(kind, engine):
    check(KINDS[kind], engine, MANY)


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_samples_of_the_demo_tokenizer(name, smollm2_path):
    tokenizer = Tokenizer.from_folder(smollm2_path)
    served = serve(name, token_vocabulary(tokenizer, len(tokenizer)))
    check(KINDS["schema"], served, ON_DEMO)
