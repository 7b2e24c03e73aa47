from __future__ import annotations

import io
import json
import math
import re
import sys

import pytest

from kernelet.cli.output import answer_object, message_object, print_growing, print_json, print_table
from kernelet.request.message import ParsedMessage, ToolCall
from kernelet.request.outputs import CompletionOutput, Logprob, RequestOutput


def request(text, **fields):
    choice = CompletionOutput(index=0, text=text, token_ids=[1], **fields)
    return RequestOutput(request_id="r", prompt="p", prompt_token_ids=[9], outputs=[choice])


def test_json_is_one_line_and_has_no_infinity(capsys):
    logprobs = [{1: Logprob(logprob=-math.inf, rank=3, decoded_token="\n", bytes=b"\n")}]
    output = request("a\nb€", logprobs=logprobs, cumulative_logprob=-math.inf, finish_reason="stop")
    print_json(answer_object(4, output, output.outputs[0]))
    printed = capsys.readouterr().out
    assert printed.count("\n") == 1
    found = json.loads(printed)
    assert found["index"] == 4
    assert (found["text"], found["token_ids"], found["prompt_token_ids"]) == ("a\nb€", [1], [9])
    assert found["finish_reason"] == "stop"
    assert found["logprobs"] == [[{"token_id": 1, "logprob": None, "rank": 3, "token": "\n", "bytes": [10]}]]
    assert found["cumulative_logprob"] is None


def test_logprobs_are_there_only_if_asked_for():
    output = request("a")
    assert "logprobs" not in answer_object(0, output, output.outputs[0])
    output.prompt_logprobs = [None, {5: Logprob(logprob=-1.0, rank=1, decoded_token="x", bytes=b"x")}]
    found = answer_object(0, output, output.outputs[0])["prompt_logprobs"]
    assert found[0] is None
    assert found[1][0]["token_id"] == 5


def test_a_message_is_there_only_where_it_was_parsed():
    message = ParsedMessage(reasoning="r", content="c", tool_calls=[ToolCall(id="x", name="f", arguments="{}")])
    output = request("a", message=message)
    assert answer_object(0, output, output.outputs[0])["message"] == message_object(message)
    assert message_object(message) == {
        "reasoning": "r",
        "content": "c",
        "tool_calls": [{"name": "f", "arguments": "{}"}],
    }
    assert "message" not in answer_object(0, request("a"), request("a").outputs[0])


def test_growing_text_is_printed_once(capsys):
    assert print_growing(iter([request("a"), request("ab"), request("abc")])) == "abc"
    assert capsys.readouterr().out == "abc\n"


def test_a_terminal_without_a_letter_gets_a_question_mark(monkeypatch):
    terminal = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", terminal)
    print_growing(iter([request("a€")]))
    assert terminal.buffer.getvalue() == b"a?\n"


def test_a_piped_table_is_plain_text(capsys):
    print_table(("NAME", "VALUE"), [("a", "1"), ("longer", "[x]")])
    assert capsys.readouterr().out == "NAME    VALUE\na       1\nlonger  [x]\n"


def test_a_table_in_a_terminal_keeps_brackets(monkeypatch, capsys):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    print_table(("NAME",), [("[red]x[/red]",)])
    assert "[red]x[/red]" in capsys.readouterr().out


def test_a_table_in_a_terminal_wraps_what_is_long_and_keeps_names(monkeypatch, capsys):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "60")
    rows = [("a-plugin-with-a-name", "word " * 30, "active", "other " * 30)]
    print_table(("NAME", "REASON", "STATE", "OFFERS"), rows)
    lines = re.sub(r"\x1b\[\d*m", "", capsys.readouterr().out).splitlines()
    assert max(map(len, lines)) <= 60
    assert len(lines) > 10
    assert lines[1].startswith("a-plugin-with-a-name ")
    assert " active " in lines[1]


def test_json_refuses_what_is_none():
    with pytest.raises(ValueError, match="JSON"):
        print_json(math.nan)
