from __future__ import annotations

import pytest

from kernelet.contracts.sampling import StructuredOutputsParams
from kernelet.errors import ParameterError
from kernelet.request.structured_outputs import CONSTRAINTS, check_structured_outputs

GOOD = {
    "json": {"type": "object"},
    "json_object": True,
    "regex": "",
    "choice": ["a", "b"],
    "grammar": "root ::= x",
    "structural_tag": {"structures": []},
}


def check(value):
    return check_structured_outputs("structured_outputs", value)


def test_every_constraint_passes_alone_and_no_two_together():
    assert set(GOOD) == set(CONSTRAINTS)
    for name, value in GOOD.items():
        params = check({name: value})
        assert getattr(params, name) == (("a", "b") if name == "choice" else value)
        assert check(params) == params, "once more changes nothing"
        for other in set(GOOD) - {name}:
            with pytest.raises(ParameterError, match="expected exactly one of json, json_object, regex"):
                check({name: value, other: GOOD[other]})


@pytest.mark.parametrize("schema", [True, False, {}, "{}", "true"])
def test_schemas_have_several_forms(schema):
    assert check(StructuredOutputsParams(json=schema)).json == schema


def test_json_object_false_is_no_constraint():
    assert check({"json_object": False, "regex": "a"}) == StructuredOutputsParams(regex="a")
    with pytest.raises(ParameterError, match="got none, expected exactly one"):
        check({"json_object": False})


def test_options_of_http_that_are_null_are_not_given():
    assert check({"regex": "a", "json": None, "whitespace_pattern": None}) == StructuredOutputsParams(regex="a")


@pytest.mark.parametrize(
    "value, says",
    [
        (5, "got 5 .int., expected StructuredOutputsParams"),
        ({"regexp": "a"}, "'regexp' .str. is no option; there are json, json_object"),
        ({"regex": "a", "whitespace_pattern": " *"}, "whitespace_pattern is not supported.*disable_any_whitespace"),
        ({"json": 5}, "json: got 5 .int., expected a JSON schema"),
        ({"json": [1]}, "json: got"),
        ({"json_object": 1}, "json_object: got 1"),
        ({"regex": b"a"}, "regex: got"),
        ({"grammar": {}}, "grammar: got"),
        ({"structural_tag": []}, "structural_tag: got"),
        ({"choice": "yes"}, "choice: got 'yes'"),
        ({"choice": []}, "choice: got an empty list"),
        ({"choice": ["a", 5]}, "choice: got 5 .int. at index 1, expected text"),
        ({"regex": "a", "backend": 5}, "backend: got 5"),
        ({"regex": "a", "backend": ""}, "backend: got ''"),
        ({"regex": "a", "disable_any_whitespace": "yes"}, "disable_any_whitespace: got 'yes'"),
        ({"regex": "a", "disable_additional_properties": 1}, "disable_additional_properties: got 1"),
        ({"regex": "a", "disable_any_whitespace": True}, "disable_any_whitespace says nothing of regex"),
        ({"choice": ["a"], "disable_any_whitespace": True}, "for json and json_object and structural_tag"),
        ({"json_object": True, "disable_additional_properties": True}, "says nothing of json_object"),
    ],
)
def test_what_is_wrong_is_named(value, says):
    with pytest.raises(ParameterError, match=says) as caught:
        check(value)
    assert caught.value.parameter.startswith("structured_outputs")
