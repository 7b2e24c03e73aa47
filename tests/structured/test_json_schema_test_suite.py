"""JSON-Schema-Test-Suite: every group is refused, or all of its instances are judged as the standard does."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from json_texts import DRAFTS, groups, writings
from structured_engines import NAMES, accepts, automatic

from kernelet.structured.refusal import InvalidConstraintError, UnenforcedError
from kernelet.structured.schema.lower import lower_schema
from kernelet.structured.schema.options import JsonOptions

VARIABLE = "KERNELET_JSON_SCHEMA_TEST_SUITE"
SUITE = os.environ.get(VARIABLE, "")

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        not SUITE,
        reason=f"{VARIABLE} names no folder: it is that of JSON-Schema-Test-Suite, whose `tests` hold draft7 and "
        "draft2020-12; the sdist of jsonschema contains it (pip download --no-binary :all: --no-deps jsonschema)",
    ),
]


@dataclass
class Verdicts:
    """Of an engine: groups that are right, refused, wrong, or failed to compile; those of format.json apart."""

    counts: Counter = field(default_factory=Counter)
    formats: Counter = field(default_factory=Counter)
    wrong: list = field(default_factory=list)

    def add(self, name, description, verdict, complaint=""):
        (self.formats if name.startswith("format") else self.counts)[verdict] += 1
        if verdict in {"wrong", "failed"} and not name.startswith("format"):
            self.wrong.append(f"{verdict}: {name}: {description}: {complaint}")


def judge(one, rules, schema, tests):
    """Whether an engine is right, wrong, or fails to compile what its bounds hold; and why."""
    try:
        complaint = complaint_of(one.start(rules), schema, tests)
    except ValueError as error:
        return "failed", str(error)
    return "wrong" if complaint else "right", complaint


def complaint_of(start, schema, tests):
    """What an engine judges otherwise than the standard; empty: nothing."""
    for valid, value in tests:
        texts = writings(value, schema)
        taken = [text for text in texts if accepts(start, text)]
        if valid and not taken:
            return f"no text of {texts[0]} is accepted"
        if not valid and taken:
            return f"{taken[0]} is accepted"
    return ""


@pytest.fixture(scope="module", params=DRAFTS)
def verdicts(request, served):
    """By engine and for auto."""
    engines = [served(name) for name in NAMES]
    found = {name: Verdicts() for name in (*NAMES, "auto")}
    for name, description, schema, tests in groups(Path(SUITE), request.param):
        try:
            rules = lower_schema(schema, JsonOptions())
        except InvalidConstraintError as error:
            rules = None
            if any(valid for valid, _ in tests):
                found["auto"].add(name, description, "wrong", f"it is called invalid: {error}")
        except UnenforcedError:
            rules = None
        best = automatic(engines, rules) if rules else None
        if best is None:
            found["auto"].add(name, description, "refused")
        for one in engines:
            if rules is None or not one.takes(rules):
                found[one.name].add(name, description, "refused")
                continue
            verdict, why = judge(one, rules, schema, tests)
            for row in (one.name, "auto") if one is best else (one.name,):
                found[row].add(name, description, verdict, why)
    for row, one in found.items():
        print(f"{request.param} {row}: {dict(one.counts)}, format.json: {dict(one.formats)}")
    return request.param, found


def test_nothing_is_wrong(verdicts):
    _, found = verdicts
    assert {name: one.wrong for name, one in found.items() if one.wrong} == {}


def test_most_of_it_is_served(verdicts):
    draft, found = verdicts
    if draft == "draft2020-12":
        assert found["auto"].counts["right"] >= 215
        assert sum(found["auto"].counts.values()) == 364
