from __future__ import annotations

import json
from decimal import Decimal

import pytest

from kernelet.config.structured import ConstraintLimits, StructuredConfig
from kernelet.contracts.sampling import StructuredOutputsParams
from kernelet.structured.constraint import Constraint, make_constraint, parsed
from kernelet.structured.refusal import InvalidConstraintError

CONFIG = StructuredConfig(max_whitespace=5)


@pytest.mark.parametrize(
    "given, kind, text",
    [
        ({"json": {"b": 1, "a": "é"}}, "json", '{"b": 1, "a": "é"}'),
        ({"json": True}, "json", "true"),
        ({"json": False}, "json", "false"),
        ({"json": '{"b":1}'}, "json", '{"b":1}'),
        ({"json_object": True}, "json_object", '{"type":"object"}'),
        ({"regex": ""}, "regex", ""),
        ({"choice": ("a", "b")}, "choice", '["a", "b"]'),
        ({"grammar": "root ::= a"}, "grammar", "root ::= a"),
        ({"structural_tag": {"x": 1}}, "structural_tag", '{"x": 1}'),
    ],
)
def test_every_kind_has_its_text(given, kind, text):
    assert make_constraint(StructuredOutputsParams(**given), CONFIG) == Constraint(
        kind=kind, text=text, max_whitespace=5
    )


def test_whitespace_and_properties_are_the_requests_or_the_operators():
    plain = StructuredOutputsParams(json=True)
    strict = StructuredOutputsParams(json=True, disable_any_whitespace=True, disable_additional_properties=True)
    operator = StructuredConfig(disable_any_whitespace=True, disable_additional_properties=True)
    found = [make_constraint(*pair) for pair in [(plain, CONFIG), (strict, CONFIG), (plain, operator)]]
    assert [(one.max_whitespace, one.additional_properties) for one in found] == [(5, None), (0, False), (0, False)]
    anything = make_constraint(StructuredOutputsParams(json_object=True), operator)
    assert anything.additional_properties is None, "any object stays any object"


@pytest.mark.parametrize(
    "schema, says",
    [
        ({"a": float("nan")}, "holds something that is no JSON"),
        ({"a": {1, 2}}, "holds something that is no JSON"),
        ({"a": "\ud800"}, "lone surrogate"),
        ({"a": "x" * 100_000}, "--structured-max-bytes"),
        ({"a": [0] * 50_000}, "--structured-max-nodes"),
    ],
)
def test_what_cannot_be_sent_is_refused(schema, says):
    with pytest.raises(InvalidConstraintError, match=says):
        make_constraint(StructuredOutputsParams(json=schema), CONFIG)


def test_limits_are_the_operators():
    config = StructuredConfig(limits=ConstraintLimits(max_bytes=3))
    with pytest.raises(InvalidConstraintError, match="at most 3"):
        make_constraint(StructuredOutputsParams(regex="aaaa"), config)


def test_json_is_read_as_json():
    def read(text):
        return parsed(Constraint(kind="json", text=text, max_whitespace=0))

    assert read(' {"a": [1.5, null]} ') == {"a": [1.5, None]}
    for text in ("{", "NaN", "[Infinity]", "", "{'a': 1}"):
        with pytest.raises(InvalidConstraintError, match="json: is no JSON"):
            read(text)
    with pytest.raises(InvalidConstraintError, match="""an object has the name "a" twice"""):
        read('{"b": [{"a": 1, "c": 2, "a": 1}]}')
    with pytest.raises(InvalidConstraintError, match=r"json: is (nested too deep|no JSON)"):
        read("[" * 200_000)
    assert json.loads("NaN") != json.loads("NaN"), "which Python's own reader takes"


def test_numbers_keep_their_digits():
    text = '{"const": 0.30000000000000001, "enum": [123456789012345678901234567890, 0.1, 1.5e300]}'
    value = {"const": Decimal("0.30000000000000001"), "enum": [123456789012345678901234567890, 0.1, 1.5e300]}
    made = make_constraint(StructuredOutputsParams(json=value), StructuredConfig())
    for constraint in (made, make_constraint(StructuredOutputsParams(json=text), StructuredConfig())):
        assert parsed(constraint) == value
        assert parsed(constraint, float)["const"] == 0.3
    with pytest.raises(InvalidConstraintError, match="json: is no JSON: the number 1e400 is out of range"):
        parsed(make_constraint(StructuredOutputsParams(json='{"const": 1e400}'), StructuredConfig()))
    for other in (Decimal("nan"), Decimal("inf"), object()):
        with pytest.raises(InvalidConstraintError, match="is no JSON"):
            make_constraint(StructuredOutputsParams(json={"const": Decimal("0.5"), "not": other}), StructuredConfig())
