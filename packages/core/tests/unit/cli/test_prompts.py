from __future__ import annotations

import argparse
import io
import sys

import pytest

from kernelet.cli.prompts import add_prompt_options, read_prompts
from kernelet.cli.usage import UsageError
from kernelet.errors import PromptError


@pytest.fixture
def read():
    parser = argparse.ArgumentParser()
    add_prompt_options(parser)
    return lambda *arguments: read_prompts(parser.parse_args([str(argument) for argument in arguments]))


def test_flags_and_a_file(read, tmp_path):
    file = tmp_path / "prompts.txt"
    file.write_text("one\r\n\n two \n", encoding="utf-8")
    assert read("--prompt", "a", "--prompt", "b", "--prompt-file", file) == ["a", "b", "one", " two "]


def test_lines_of_json(read, tmp_path):
    file = tmp_path / "prompts.jsonl"
    file.write_text('"a\\nb"\n{"prompt": "c"}\n\n{"prompt_token_ids": [1]}\n', encoding="utf-8")
    assert read("--prompt-file", file) == ["a\nb", {"prompt": "c"}, {"prompt_token_ids": [1]}]


def test_a_line_that_is_no_json_is_named(read, tmp_path):
    file = tmp_path / "prompts.jsonl"
    file.write_text('"a"\n{\n', encoding="utf-8")
    with pytest.raises(PromptError, match="line 2 is no JSON"):
        read("--prompt-file", file)


def test_a_line_separator_inside_a_line_does_not_cut_it(read, tmp_path):
    file = tmp_path / "prompts.txt"
    file.write_text("a\u2028b\n", encoding="utf-8")
    assert read("--prompt-file", file) == ["a\u2028b"]


def test_a_file_that_is_not_there(read, tmp_path):
    with pytest.raises(PromptError, match="cannot be read"):
        read("--prompt-file", tmp_path / "missing")


def test_standard_input(read, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("from a\npipe"))
    assert read() == ["from a\npipe"]
    monkeypatch.setattr(sys, "stdin", io.StringIO("one\ntwo\n"))
    assert read("--prompt-file", "-") == ["one", "two"]


def test_no_prompt_is_wrong_usage(read, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    with pytest.raises(UsageError, match="--prompt TEXT"):
        read()


def test_an_empty_prompt_is_a_prompt(read):
    assert read("--prompt", "") == [""]
