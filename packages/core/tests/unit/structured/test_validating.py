from __future__ import annotations

import msgspec
import pytest

from kernelet.contracts.parsing import CallSyntax
from kernelet.structured.constraint import TOOL_CALLS, Constraint
from kernelet.structured.refusal import InvalidConstraintError
from kernelet.structured.tags.calls import ToolCalls
from kernelet.structured.validating import VALIDATE, ValidateCall, calls_text, check_comparable, validate

pytest.importorskip("jsonschema")


def constraint(kind, text):
    return Constraint(kind=kind, text=text, max_whitespace=8)


def verdict(kind, text, answer):
    call = ValidateCall(constraint=constraint(kind, text), text=answer)
    return validate(msgspec.msgpack.encode(call)) == b"1"


@pytest.mark.parametrize(
    "kind, text, good, bad",
    [
        ("regex", "(?=a).b", "ab", "cb"),
        ("regex", "a", "a", "ab"),
        ("choice", '["a"]', "a", "b"),
        ("json", '{"type": "integer", "not": {"const": 5}}', "4", "5"),
        ("json", '{"uniqueItems": true}', "[1, 2]", "[1, 1.0]"),
        ("json", "{}", "{}", "{"),
        ("json", "{}", "null", "NaN"),
        ("json_object", '{"type":"object"}', "{}", "[]"),
        ("json", '{"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"const": 1}]}', "[1, 2]", "[2]"),
    ],
)
def test_texts_are_compared(kind, text, good, bad):
    check_comparable(constraint(kind, text))
    assert verdict(kind, text, good)
    assert not verdict(kind, text, bad)


OBJECT = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}


@pytest.mark.parametrize("syntax", [None, CallSyntax(before="<", between=" ")])
@pytest.mark.parametrize(
    "choice, strict, calls, good",
    [
        ("auto", True, [], True),
        ("auto", True, [("f", '{"a": 1}'), ("f", '{"a": 2, "b": 3}')], True),
        ("auto", True, [("f", '{"a": 1}'), ("f", '{"a": "x"}')], False),
        ("auto", True, [("f", '{"a": 1')], False),
        ("auto", False, [("f", '{"a": "x"}')], True),
        ("auto", False, [("f", "[]")], False),
        ("auto", True, [("g", '{"a": 1}')], False),
        ("required", False, [], False),
        ("required", None, [("f", '{"a": 1}')], True),
        ("required", None, [("f", '{"a": "x"}')], False),
    ],
)
def test_calls_are_compared(syntax, choice, strict, calls, good):
    tool = {"name": "f", "parameters": OBJECT, **({} if strict is None else {"strict": strict})}
    wanted = ToolCalls(syntax=syntax, openings=(), tools=(tool,), choice=choice)
    text = msgspec.json.encode(wanted).decode()
    check_comparable(constraint(TOOL_CALLS, text))
    assert verdict(TOOL_CALLS, text, calls_text(calls)) == good


def test_calls_or_a_text_are_compared():
    wanted = ToolCalls(syntax=None, openings=(), tools=({"name": "f"},), holds_text=True, schema={"type": "integer"})
    text = msgspec.json.encode(wanted).decode()
    assert verdict(TOOL_CALLS, text, calls_text([], "5"))
    assert not verdict(TOOL_CALLS, text, calls_text([], "x"))
    assert verdict(TOOL_CALLS, text, calls_text([("f", "{}")], "x"))


def test_calls_of_what_is_no_schema_are_compared_with_nothing():
    tool = {"name": "f", "parameters": {"type": "obj"}, "strict": True}
    text = msgspec.json.encode(ToolCalls(syntax=None, openings=(), tools=(tool,))).decode()
    with pytest.raises(InvalidConstraintError, match="/tools/0/function/parameters: is no schema"):
        check_comparable(constraint(TOOL_CALLS, text))


@pytest.mark.parametrize(
    "kind, text, says",
    [
        ("regex", "a(", "is none of Python's either"),
        ("grammar", "root ::= a", "cannot be compared"),
        ("structural_tag", "{}", "cannot be compared"),
        ("json", '{"type": "strin"}', "json: is no schema"),
    ],
)
def test_what_texts_cannot_be_compared_with(kind, text, says):
    with pytest.raises(InvalidConstraintError, match=says):
        check_comparable(constraint(kind, text))


def test_nothing_is_fetched():
    with pytest.raises(Exception, match=r"example\.com"):
        verdict("json", '{"$ref": "http://example.com/schema"}', "1")


def test_the_target_is_where_its_name_says():
    module, _, name = VALIDATE.partition(":")
    assert (module, name) == (validate.__module__, validate.__name__)
