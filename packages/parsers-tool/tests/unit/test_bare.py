from __future__ import annotations

import json

import pytest

from kernelet.contracts.parsing import ParserContext
from kernelet.testing.parsing.feed import Feed
from kernelet_parsers_tool import bare


def parse(target, text, **options):
    return Feed(target(ParserContext()), **options).parse(text, range(len(text)))


@pytest.mark.parametrize("target", [bare.llama3_json, bare.pythonic, bare.xlam])
@pytest.mark.parametrize(
    "text", ['It is {"name": "f", "arguments": {}}.', "See [f(a=1)] there.", 'As [{"name": "f", "arguments": {}}].']
)
def test_calls_begin_where_the_answer_begins(target, text):
    assert (parse(target, text).content, parse(target, text).calls) == (text, ())


@pytest.mark.parametrize("text", ["[1, 2]", "{1}", '{"a": 2}', "[{}]", "[f]", "[f, g(1)]", "{", "["])
@pytest.mark.parametrize("target", [bare.llama3_json, bare.pythonic, bare.xlam])
@pytest.mark.parametrize("drops", [False, True])
def test_what_only_looks_like_a_call_is_content(target, text, drops):
    found = parse(target, text + " so", drops_calls=drops)
    assert (found.content, found.calls) == (text + " so", ())


def test_objects_in_a_row():
    text = '{"name": "f", "parameters": {"a": "x;y"}}; {"name": "g", "parameters": {}}'
    assert parse(bare.llama3_json, text).calls == (("f", '{"a": "x;y"}'), ("g", "{}"))


@pytest.mark.parametrize(
    "target, around", [(bare.pythonic, "[{}]"), (bare.olmo3, "<function_calls>{}</function_calls>")]
)
def test_literals_are_those_of_python(target, around):
    values = {"a": 'it\'s "x"\n', "b": [1, -2.5, None, {"k": True}], "c": False, "d": "é)],("}
    call = f"f({', '.join(f'{name}={value!r}' for name, value in values.items())})"
    [(name, arguments)] = parse(target, around.format(call)).calls
    assert (name, json.loads(arguments)) == ("f", values)


def test_lines_of_calls():
    text = "<function_calls>\nf(a=1)\n\ng(b='x')\n</function_calls>so"
    found = parse(bare.olmo3, text)
    assert (found.content, found.calls) == ("so", (("f", '{"a": 1}'), ("g", '{"b": "x"}')))


@pytest.mark.parametrize(
    "text, content",
    [
        ('[{"name": "f", "arguments": {}}]', ""),
        ('So:\n```json\n[{"name": "f", "arguments": {}}]\n``` then', "So: then"),
        ('So:<tool_call>[{"name": "f", "arguments": {}}]</tool_call>', "So:"),
        ('So:<tool_call>{"name": "f", "arguments": {}}</tool_call>', "So:"),
    ],
)
def test_lists_with_and_without_a_fence(text, content):
    found = parse(bare.xlam, text)
    assert (found.content, found.calls) == (content, (("f", "{}"),))
