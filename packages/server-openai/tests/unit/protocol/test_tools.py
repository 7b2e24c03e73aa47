from __future__ import annotations

import openai
import pydantic
import pytest

from kernelet.contracts.serving import ParsersInfo
from kernelet_server_openai.protocol.errors import ApiError
from kernelet_server_openai.protocol.tools import (
    MAX_TOOLS_BYTES,
    ToolUse,
    function_of_responses,
    tool_use,
)

ALL = ParsersInfo(tool="x", reasoning=None, auto_tool_choice=True)
NO_FLAG = ParsersInfo(tool="x", reasoning=None, auto_tool_choice=False)
NOTHING = ParsersInfo()
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}
F = {"type": "function", "function": {"name": "f", "description": "d", "parameters": SCHEMA}}


def use(tools=(F,), choice=None, *, parallel=None, parsers=ALL, **options):
    return tool_use(list(tools), choice, parallel=parallel, parsers=parsers, **options)


def refused(*arguments, **options):
    with pytest.raises(ApiError) as caught:
        use(*arguments, **options)
    assert caught.value.status == 400
    return caught.value


class Weather(pydantic.BaseModel):
    city: str


def test_what_the_template_is_told():
    assert use().tools == (F,)
    assert use().template() == {"tools": [F], "tool_choice": "auto"}
    assert use([]).template() == {}
    one = tool_use([F], None, parallel=False, parsers=ParsersInfo(tool="x", auto_tool_choice=True)).template()
    assert one == {"tools": [F], "tool_choice": "auto", "parallel_tool_calls": False}


def test_tools_of_the_official_client():
    found = use([openai.pydantic_function_tool(Weather)]).tools[0]["function"]
    assert found["name"] == "Weather"
    assert found["parameters"]["properties"]["city"]["type"] == "string"
    assert found["strict"] is True


def test_a_function_in_the_form_of_chat_is_told_the_other_form():
    error = refused([F], read=function_of_responses)
    assert error.param == "tools[0].function"
    assert "beside type" in error.message


def test_a_function_of_responses():
    flat = {"type": "function", "strict": True, **F["function"]}
    (found,) = use([flat], read=function_of_responses).tools
    assert found == {"type": "function", "function": {**F["function"], "strict": True}}


@pytest.mark.parametrize(
    "tools, choice, expected",
    [([F], None, "auto"), ([F], "auto", "auto"), ([F], "none", "none"), ([], None, "none"), ([], "auto", "none")],
)
def test_the_choice(tools, choice, expected):
    assert use(tools, choice).choice == expected
    assert tool_use(None, None, parallel=False, parsers=NOTHING) == ToolUse(only_first=True)


@pytest.mark.parametrize(
    "choice, expected",
    [
        ("required", "required"),
        ({"type": "function", "function": {"name": "f"}}, {"type": "function", "function": {"name": "f"}}),
        ({"type": "function", "name": "f"}, {"type": "function", "function": {"name": "f"}}),
    ],
)
def test_calls_that_must_come(choice, expected):
    found = use([F], choice)
    assert found.choice == expected
    assert found.must_call
    assert not use([F]).must_call
    free = ParsersInfo(tool="x")
    assert tool_use([F], choice, parallel=None, parsers=free).choice == expected
    assert "no tools" in refused([], "required").message


@pytest.mark.parametrize(
    "choice",
    [
        "any",
        1,
        {"type": "function", "function": {"name": "g"}},
        {"type": "function", "name": "g"},
        {"type": "function", "function": 5},
        {"type": "allowed_tools"},
    ],
)
def test_wrong_choices(choice):
    assert refused([F], choice).param == "tool_choice"


def test_without_a_parser():
    error = refused([F], "none", parsers=NOTHING)
    assert error.param == "tools"
    assert "kernelet-parsers-*" in error.message
    assert "--tool-call-parser" in error.message
    assert use([F], None, parsers=None).choice == "auto"  # nothing is generated


def test_without_the_flag_the_model_may_not_choose():
    assert "--enable-auto-tool-choice" in refused([F], parsers=NO_FLAG).message
    assert refused([F], "auto", parsers=NO_FLAG).param == "tool_choice"
    assert use([F], "none", parsers=NO_FLAG).choice == "none"


def function(**fields):
    return {"type": "function", "function": {"name": "f", **fields}}


@pytest.mark.parametrize(
    "tool, place",
    [
        (5, ""),
        ({}, ".type"),
        ({"type": "web_search"}, ".type"),
        ({"type": "function"}, ".function"),
        ({**F, "cache": 1}, ".cache"),
        ({"type": "function", "function": {}}, ".function.name"),
        (function(name="a b"), ".function.name"),
        (function(name="x" * 65), ".function.name"),
        (function(name="f\n"), ".function.name"),
        (function(description=1), ".function.description"),
        (function(parameters=[]), ".function.parameters"),
        (function(parameters={"type": "string"}), ".function.parameters.type"),
        (function(parameters={"properties": []}), ".function.parameters.properties"),
        (function(strict="yes"), ".function.strict"),
        (function(returns={}), ".function.returns"),
    ],
)
def test_wrong_functions_are_named(tool, place):
    error = refused([{"type": "function", "function": {"name": "g"}}, tool])
    assert error.param == f"tools[1]{place}"


def test_names_differ():
    assert "'f' already" in refused([F, F]).message


def test_functions_have_a_limit():
    assert "at most" in refused([function(description="x" * MAX_TOOLS_BYTES)]).message
