from __future__ import annotations

import io
import json
import sys
from types import SimpleNamespace

import pytest
import sample_parsers

FILE = sample_parsers.__file__
TEXT = '<think>why ä</think>\nso <call>{"name": "f", "arguments": {"a": "</call>"}}</call> done\n'
PARSED = {
    "reasoning": "why ä",
    "content": "so done\n",
    "tool_calls": [{"name": "f", "arguments": '{"a": "</call>"}'}],
}


@pytest.fixture
def parsers(kernelet, monkeypatch):
    """``kernelet parsers`` with the parsers of a file."""
    monkeypatch.setenv("KERNELET_TOOL_PARSER_PLUGIN", FILE)
    return lambda *arguments: kernelet("parsers", *arguments)


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(TEXT.encode())
    return path


def test_list(parsers):
    code, out, err = parsers("list", "--json")
    assert (code, err) == (0, "")
    found = {(row["name"], row["kind"]): row for row in json.loads(out)}
    assert set(found) == {("calls", "tool"), ("fails", "tool"), ("thoughts", "reasoning")}
    assert found["thoughts", "reasoning"] == {
        "name": "thoughts",
        "kind": "reasoning",
        "distribution": FILE.rpartition("/")[0],
        "hints": ["<think>", "</think>"],
        "summary": "what stands between <think> and </think>",
    }
    lines = parsers("list")[1].splitlines()
    assert lines[0].split() == ["NAME", "KIND", "DISTRIBUTION", "HINTS", "SUMMARY"]
    assert [line.split()[:2] for line in lines[1:]] == [["calls", "tool"], ["fails", "tool"], ["thoughts", "reasoning"]]


def test_a_file_may_be_named_by_its_flag(kernelet):
    assert kernelet("parsers", "list", "--json") == (0, "[]\n", "")
    code, out, _ = kernelet("parsers", "list", "--json", "--reasoning-parser-plugin", FILE)
    assert (code, len(json.loads(out))) == (0, 3)


def test_one_kind(parsers, text):
    code, out, err = parsers("try", "calls", text, "--json")
    assert (code, err) == (0, "")
    assert json.loads(out) == {**PARSED, "reasoning": "", "content": "<think>why ä</think>\nso done\n"}
    assert parsers("try", "calls", text, "--json", "--kind", "tool")[1] == out
    rest = TEXT.partition("\n")[2]
    expected = {"reasoning": "why ä", "content": rest, "tool_calls": []}
    assert json.loads(parsers("try", "thoughts", text, "--json")[1]) == expected


BOTH = """
import sample_parsers
from kernelet.contracts.parsing import ReasoningParserOffer, ToolParserOffer
from kernelet.hookspecs import hookimpl

@hookimpl
def kernelet_tool_parsers():
    return (ToolParserOffer(name="one", target="sample_parsers:calls"),)

@hookimpl
def kernelet_reasoning_parsers():
    return (ReasoningParserOffer(name="one", target="sample_parsers:thoughts"),)
"""


def test_both_kinds_at_every_cut(kernelet, text, tmp_path, monkeypatch):
    file = tmp_path / "both_kinds.py"
    file.write_text(BOTH)
    monkeypatch.setenv("KERNELET_TOOL_PARSER_PLUGIN", str(file))
    for cut in (None, 0, 3, 7, 14, 33, 60, len(TEXT)):
        options = () if cut is None else ("--cut", cut)
        code, out, err = kernelet("parsers", "try", "one", text, "--json", *options)
        assert (code, err) == (0, "")
        assert json.loads(out) == PARSED
    out = kernelet("parsers", "try", "one", text, "--kind", "reasoning", "--json")[1]
    assert json.loads(out)["tool_calls"] == []


def test_standard_input(parsers, monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"<call>{\r\n")))
    code, out, _ = parsers("try", "calls", "-", "--json")
    assert (code, json.loads(out)["content"]) == (0, "<call>{\r\n")


def test_for_people(parsers, text):
    assert parsers("try", "calls", text)[1] == (
        'content:\n<think>why ä</think>\nso done\n\n\ncall of f:\n{"a": "</call>"}\n'
    )
    assert parsers("try", "thoughts", text)[1].startswith("reasoning:\nwhy ä\n\ncontent:\nso <call>")


def test_a_prompt_that_opened_the_reasoning(parsers, tmp_path):
    (tmp_path / "t").write_text("a</think>b")
    found = json.loads(parsers("try", "thoughts", tmp_path / "t", "--json", "--prompt", "x<think>")[1])
    assert (found["reasoning"], found["content"]) == ("a", "b")


def test_a_text_that_ends_reasoning_without_its_begin(parsers, tmp_path):
    """The prompt had it."""
    (tmp_path / "t").write_text("a</think>b")
    for cut in range(11):
        found = json.loads(parsers("try", "thoughts", tmp_path / "t", "--json", "--cut", cut)[1])
        assert (found["reasoning"], found["content"]) == ("a", "b")
    found = json.loads(parsers("try", "thoughts", tmp_path / "t", "--json", "--prompt", "x")[1])
    assert found["reasoning"] == ""


TYPED = """
from kernelet.contracts.parsing import *
from kernelet.hookspecs import hookimpl

def table(context):
    states = {
        "name": NameState(exits=(Exit(":", "key"),)),
        "key": ParameterNameState(exits=(Exit("=", "value"),)),
        "value": ParameterValueState(exits=(Exit(";", CONTENT, closes=True),)),
    }
    return ParserTable(states=states, content_exits=(Exit("@", "name", opens=True),))

@hookimpl
def kernelet_tool_parsers():
    return (ToolParserOffer(name="typed", target=f"{__name__}:table"),)
"""


def test_schemas(kernelet, tmp_path):
    for name, content in (
        ("typed.py", TYPED),
        ("text", "@f:n=5;"),
        ("tools", '[{"name": "f", "parameters": {"type": "object", "properties": {"n": {"type": "string"}}}}]'),
    ):
        (tmp_path / name).write_text(content)
    command = ("parsers", "try", "typed", tmp_path / "text", "--json", "--tool-parser-plugin", tmp_path / "typed.py")
    with_schema = json.loads(kernelet(*command, "--tools", tmp_path / "tools")[1])
    assert with_schema["tool_calls"] == [{"name": "f", "arguments": '{"n": "5"}'}]
    without = json.loads(kernelet(*command)[1])["tool_calls"]
    assert json.loads(without[0]["arguments"])["n"] in {5, "5"}


@pytest.mark.parametrize(
    "arguments, code, message",
    [
        (("try", "call", "TEXT"), 1, "no parser is named 'call' (did you mean calls?). Installed are tool parsers: "),
        (("try", "call", "TEXT"), 1, "reasoning parsers: thoughts. For another, install a package"),
        (("try", "thoughts", "TEXT", "--kind", "tool"), 1, "No tool parser is named 'thoughts'"),
        (("try", "calls", "TEXT", "--kind", "reasoning"), 1, "No reasoning parser is named 'calls'. Choices: thoughts"),
        (("try", "calls", "/no/such/file"), 1, "/no/such/file cannot be read: No such file or directory"),
        (("try", "calls", "BYTES"), 1, "is no UTF-8 text: byte 1 is none"),
        (("try", "calls", "TEXT", "--cut", "-1"), 2, f"--cut -1: the text has {len(TEXT)} characters"),
        (("try", "calls", "TEXT", "--cut", str(len(TEXT) + 1)), 2, f"expected 0 to {len(TEXT)}"),
        (("try", "calls", "TEXT", "--cut", "x"), 2, "argument --cut: invalid int value"),
        (("try", "calls", "TEXT", "--kind", "x"), 2, "invalid choice: 'x'"),
        (("try", "calls", "TEXT", "--tools", "TEXT"), 1, "is no JSON"),
        (("try", "calls", "TEXT", "--tools", "gone.json"), 1, "error: gone.json cannot be read"),
        (("try", "calls", "TEXT", "--tools", "OBJECT"), 1, "expected a list of objects"),
        (("try", "fails", "TEXT"), 1, "tool parser 'fails' failed: LookupError: no table today"),
        (("try", "calls", "TEXT", "--tool-parser-plugin", "/no/such.py"), 1, "there is no such file"),
        (("try",), 2, "the following arguments are required: NAME, FILE"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(parsers, text, tmp_path, arguments, code, message):
    (tmp_path / "bytes").write_bytes(b"a\xff")
    (tmp_path / "object").write_text("{}")
    paths = {"TEXT": text, "BYTES": tmp_path / "bytes", "OBJECT": tmp_path / "object"}
    found, out, err = parsers(*(paths.get(argument, argument) for argument in arguments))
    assert (found, out) == (code, "")
    assert err.startswith("error: ")
    assert err.partition("\nPlugins that are not active:")[0].count("\n") <= 1
    assert message in err
