from __future__ import annotations

import json

import pytest

from kernelet.contracts.parsing import ParserContext
from kernelet.testing.parsing.feed import Feed
from kernelet_parsers_tool import parameters

TOOLS = (
    {
        "name": "f",
        "parameters": {
            "type": "object",
            "properties": {"day": {"type": "integer"}, "n": {"type": ["integer", "null"]}, "s": {"type": "string"}},
        },
    },
)


def parse(target, text, **options):
    context = ParserContext(tools=TOOLS)
    return Feed(target(context), tools=TOOLS, **options).parse(text, range(len(text)))


def qwen3(**values):
    lines = "".join(f"<parameter={name}>\n{value}\n</parameter>\n" for name, value in values.items())
    return f"<tool_call>\n<function=f>\n{lines}</function>\n</tool_call>"


def minimax(**values):
    lines = "".join(f'<parameter name="{name}">{value}</parameter>\n' for name, value in values.items())
    return f'<minimax:tool_call>\n<invoke name="f">\n{lines}</invoke>\n</minimax:tool_call>'


def glm(**values):
    pairs = "".join(f"<arg_key>{name}</arg_key>\n<arg_value>{value}</arg_value>\n" for name, value in values.items())
    return f"<tool_call>f\n{pairs}</tool_call>"


FAMILIES = pytest.mark.parametrize(
    "target, write",
    [
        (parameters.qwen3, qwen3),
        (parameters.minimax_m2, minimax),
        (parameters.glm45, glm),
    ],
)


@FAMILIES
@pytest.mark.parametrize(
    "values, expected",
    [
        ({"day": "5"}, {"day": 5}),
        ({"day": "2026-01-15"}, {"day": "2026-01-15"}),
        ({"n": "None", "s": "null"}, {"n": None, "s": "null"}),
        ({"s": "a </parameter> </arg_value> </steptml:parameter> b"}, None),
        ({"s": "if a < b:\n    x = '\"'\n"}, None),
        ({"s": ""}, None),
        ({}, None),
    ],
)
def test_values(target, write, values, expected):
    [(name, arguments)] = parse(target, write(**values)).calls
    assert (name, json.loads(arguments)) == ("f", values if expected is None else expected)


@FAMILIES
def test_a_string_streams(target, write):
    text = write(s="x" * 50)
    parser = Feed(target(ParserContext(tools=TOOLS)), tools=TOOLS).parser()
    for span in Feed(target(ParserContext())).spans(text[: text.index("x" * 50) + 40]):
        parser.push([span])
    assert parser.message.tool_calls[0].arguments == '{"s": "' + "x" * 40


@pytest.mark.parametrize("name", ["what is this", '{"name": "f"}', "", "f<b>"])
def test_a_name_that_is_none_is_content(name):
    text = f"<tool_call>{name}<arg_key>s</arg_key><arg_value>x</arg_value>"
    found = parse(parameters.glm45, f"{text}</tool_call>")
    assert (found.calls, found.content) == ((), f"{text}</tool_call>")


@pytest.mark.parametrize(
    "text, expected",
    [
        ("<function=f>\n<parameter=s>\na\n</parameter>\n</function>", {"s": "a"}),
        ("<tool_call>\n<function=f>\n<parameter=s>\na\n</function>\n</tool_call>", {"s": "a"}),
        ("<tool_call>\n<function=f>\n<parameter=s>\na\n</parameter>\n</tool_call>", {"s": "a"}),
        ("<tool_call>\n<function=f>\n</tool_call>", {}),
        ("<tool_call><function=f><parameter=s>a</parameter></function></tool_call>", {"s": "a"}),
        ("<tool_call>\n<function=f>\n<parameter=s>\n\n\na\n\n\n</parameter>\n</function>", {"s": "\n\na\n\n"}),
    ],
)
def test_qwen3_without_some_of_the_tags(text, expected):
    [(_, arguments)] = parse(parameters.qwen3, text).calls
    assert json.loads(arguments) == expected


def test_calls_in_one_block_and_in_several():
    text = f"a{minimax(s='1')}b"
    one = '<minimax:tool_call><invoke name="f"></invoke><invoke name="g"></invoke></minimax:tool_call>'
    found = parse(parameters.minimax_m2, text + one + text)
    assert found.content == "aba" + "b"
    assert [name for name, _ in found.calls] == ["f", "f", "g", "f"]
