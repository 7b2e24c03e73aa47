"""Texts that are sampled under masks: what was asked for is what comes out, for random constraints of every kind."""

from __future__ import annotations

import json
import re
from random import Random

import jsonschema
import pytest
from random_constraints import random_choice, random_grammar, random_pattern, random_schema
from structured_engines import NAMES, accepts, sample

from kernelet.structured.automata.parse import parse_regex
from kernelet.structured.automata.write import rules_of_regex
from kernelet.structured.choice import choice_rules
from kernelet.structured.ebnf import parse_grammar
from kernelet.structured.refusal import InvalidConstraintError, UnenforcedError
from kernelet.structured.schema.lower import lower_schema
from kernelet.structured.schema.options import JsonOptions
from kernelet.testing.grammar_engine.reference import recognizes

SEED = 7
FEW, MANY = 12, 5000
"""Samples of each kind of constraint and engine: in CI, and in `hatch run test-long`."""
AT_ONCE = 4
"""Samples of one constraint."""


def samples(served, draw, lower, count):
    """(constraint, text) for constraints that core and the engine take."""
    found, seed = 0, 0
    while found < count:
        random = Random(f"{SEED}/{seed}")
        seed += 1
        assert seed < 20 * count + 100, "the constraints that are drawn are hardly ever taken"
        constraint = draw(random)
        try:
            rules = lower(constraint)
        except (UnenforcedError, InvalidConstraintError):
            continue
        if not served.takes(rules):
            continue
        start = served.start(rules)
        for _ in range(min(AT_ONCE, count - found)):
            text = sample(start.fork(), random)
            assert text is not None, f"a text for {constraint!r} did not end"
            found += 1
            yield constraint, text, start


def check_schemas(served, count):
    for schema, text, start in samples(served, random_schema, lambda one: lower_schema(one, JsonOptions()), count):
        value = json.loads(text)
        checker = jsonschema.Draft202012Validator.FORMAT_CHECKER
        errors = list(jsonschema.Draft202012Validator(schema, format_checker=checker).iter_errors(value))
        assert not errors, f"{text} of {schema}: {errors[0].message}"
        assert accepts(start, text)


def check_patterns(served, count):
    for pattern, text, _ in samples(served, random_pattern, lambda one: rules_of_regex(parse_regex(one)), count):
        assert re.fullmatch(pattern, text), f"{text!r} of {pattern!r}"


def check_choices(served, count):
    for texts, text, _ in samples(served, random_choice, choice_rules, count):
        assert text in texts


def check_grammars(served, count):
    for grammar, text, _ in samples(served, random_grammar, parse_grammar, count):
        assert recognizes(parse_grammar(grammar), text), f"{text!r} of {grammar!r}"


CHECKS = (check_schemas, check_patterns, check_choices, check_grammars)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("check", CHECKS)
def test_samples(check, name, served):
    check(served(name), FEW)


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("check", CHECKS)
def test_many_samples(check, name, served):
    check(served(name), MANY)
