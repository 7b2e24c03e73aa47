from __future__ import annotations

import argparse
import io
import json
import sys
from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from kernelet.cli import grammar
from kernelet.cli.grammar import as_object, lines_of, read_entry
from kernelet.engine.structured.checker import Checked
from kernelet.errors import ConfigError

PLUGINS = "core,grammar_plugin:PLUGIN"


@pytest.fixture
def whole(kernelet, monkeypatch):
    """``kernelet grammar check`` with engines of a test and helpers of its own."""
    monkeypatch.setenv("KERNELET_PLUGINS", PLUGINS)
    return lambda *arguments: kernelet("grammar", "check", *map(str, arguments))


@pytest.fixture(scope="module")
def shared():
    """What looks at constraints; its helpers serve many command lines."""
    parser = argparse.ArgumentParser()
    grammar.configure(parser)
    with grammar.checker(parser.parse_args(["check", "--plugins", PLUGINS])) as checker:
        yield checker


@pytest.fixture
def check(whole, shared, monkeypatch):
    """The same with the shared ones."""
    monkeypatch.setattr(grammar, "checker", lambda _: nullcontext(shared))
    return whole


@pytest.fixture
def write(tmp_path):
    def write(name, text):
        path = tmp_path / name
        path.write_bytes(text.encode())
        return path

    return write


SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}


def test_one_schema(check, write):
    schema = write("schema.json", json.dumps(SCHEMA))
    instances = write("texts.jsonl", '{"a": 1}\r\n{"a": "x"}\n\n{"a":1}')
    assert check(schema, "--instances", instances, "--json") == (
        0,
        '{"engine": "flat", "accepted": [true, false, false, true]}\n',
        "",
    )
    code, out, _ = check(schema, "--instances", instances)
    assert code == 1, "a text is not accepted"
    assert out.splitlines()[0] == "enforced by flat"
    assert [line.split()[0] for line in out.splitlines()[2:]] == ["yes", "no", "no", "yes"]
    assert check(schema)[0] == 0


def test_a_batch(whole, write):
    entries = [
        {"schema": SCHEMA, "instances": ['{"a": 1}', "[]"]},
        {"schema": {"type": "strin"}, "instances": ["1"]},
        {"schema": {"$ref": "http://example.com/x"}, "instances": []},
        {"schema": {"items": {"$ref": "#"}, "type": "array"}, "instances": ["[[], []]", "[1]"]},
    ]
    batch = write("batch.jsonl", "\n".join(map(json.dumps, entries)) + "\n")
    code, out, err = whole("--batch", batch, "--json")
    first, second, third, fourth = map(json.loads, out.splitlines())
    assert (code, err) == (0, "")
    assert first == {"engine": "flat", "accepted": [True, False]}
    assert second["engine"] is third["engine"] is None
    assert second["refused"] == ["/type"]
    assert third["refused"] == ["/$ref"] == list(third["reasons"])
    assert fourth == {"engine": "good", "accepted": [True, False]}, "the other has no rules that refer to themselves"


def test_numbers_of_a_batch_keep_their_digits(check, write):
    batch = write(
        "batch.jsonl", '{"schema": {"const": 0.30000000000000001}, "instances": ["0.30000000000000001", "0.3"]}'
    )
    assert json.loads(check("--batch", batch, "--json")[1])["accepted"] == [True, False]
    code, _, err = check("--batch", write("nan.jsonl", '{"schema": {"const": NaN}}'))
    assert code != 0
    assert "line 1: is no JSON: NaN is no number of JSON" in err


def test_a_batch_for_people(check, write):
    batch = write("batch.jsonl", '{"schema": true, "instances": ["1"]}\n{"schema": false}\n')
    code, out, _ = check("--batch", batch)
    assert code == 1
    assert out.splitlines()[0] == "1: good: 1 of 1 accepted"
    assert out.splitlines()[1].startswith("2: refused: ")


def test_other_constraints_and_options(check, write):
    pattern, texts = write("pattern", "[ab]+c\n"), write("texts", "abc\nc\n")
    expected = {"engine": "good", "accepted": [True, False]}
    assert json.loads(check("--regex", pattern, "--instances", texts, "--engine", "good", "--json")[1]) == expected
    grammar = write("grammar", 'root ::= "a" "bc"\n')
    assert json.loads(check("--grammar", grammar, "--instances", texts, "--json")[1])["accepted"] == [True, False]
    code, out, _ = check("--regex", write("ahead", "(?=a)b"))
    assert code == 1
    assert out.startswith("refused: ")
    assert "look-around is not supported" in out
    long = write("long", "a{40}")
    assert "20 times, not 40" in check("--regex", long, "--engine", "flat")[1]


@pytest.mark.parametrize(
    "form, text, says", [("--regex", "a(b", "regex, character 2  ')' is missing"), (None, "{", "json   is no JSON")]
)
def test_what_is_malformed_says_so_itself(check, write, form, text, says):
    path = write("wrong", text)
    code, out, _ = check(*([path] if form is None else [form, path]))
    assert code == 1
    assert out.startswith("refused: ")
    assert out.splitlines()[2].startswith(says)
    assert "no grammar engine" not in out


def test_a_models_tokenizer_and_limits(whole, write, tmp_path):
    from kernelet.testing.null.model import null_config, write_model

    folder = write_model(tmp_path / "model", null_config())
    pattern, texts = write("pattern", "é{1,5}"), write("texts", "éé\ne")
    found = whole("--regex", pattern, "--instances", texts, "--tokenizer", folder, "--json")
    assert json.loads(found[1]) == {"engine": "flat", "accepted": [True, False]}
    assert "--structured-max-bytes" in whole("--regex", pattern, "--structured-max-bytes", "3")[1]


def test_standard_input(check, monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b'{"type": "null"}')))
    assert check("-", "--json")[1] == '{"engine": "flat", "accepted": []}\n'


@pytest.mark.parametrize(
    "arguments, code, says",
    [
        ([], 2, "give one of SCHEMA.json"),
        (["a.json", "--batch", "b"], 2, "give one of SCHEMA.json"),
        (["--batch", "b", "--instances", "c"], 2, "have their own"),
        (["nowhere.json"], 1, "nowhere.json cannot be read"),
    ],
)
def test_what_is_wrong_is_said(check, arguments, code, says):
    found = check(*arguments)
    assert found[0] == code
    assert says in found[2]


def test_an_engine_that_there_is_not(whole):
    code, _, err = whole("nowhere.json", "--engine", "nobody")
    assert code == 1
    assert "No grammar engine is named 'nobody'" in err


def test_lines_end_at_line_feeds_alone():
    assert lines_of("a\u2028b\r\n\nc") == ["a\u2028b", "", "c"]
    assert lines_of("a\n") == ["a"]
    assert lines_of("") == []


@pytest.mark.parametrize(
    "line", ["", "{", "[]", '{"instances": []}', '{"schema": 1, "instances": "a"}', '{"schema": 1, "instances": [1]}']
)
def test_lines_of_a_batch(line):
    with pytest.raises(ConfigError, match="--batch, line 7"):
        read_entry(7, line)


def test_results_as_objects():
    assert as_object(Checked(engine=None, reasons={"/a": "b"})) == {
        "engine": None,
        "refused": ["/a"],
        "reasons": {"/a": "b"},
    }
