from __future__ import annotations

from dataclasses import replace

from kit import run_suites

from kernelet.contracts.parsing import ParserContext
from kernelet.testing.parsing.sample import Sample
from kernelet.testing.reasoning_parser.faults import suite_of
from kernelet.testing.reasoning_parser.reference import table
from kernelet.testing.reasoning_parser.suite import context


def test_the_reference_passes(tmp_path):
    listener = run_suites([suite_of(table)], tmp_path)
    assert not listener.messages
    assert listener.passed[0] == 17


def test_capabilities_are_held_against_the_table(tmp_path):
    suite = suite_of(table)
    suite.capabilities = replace(
        suite.capabilities, opened="<think>", tokens=("<think>",), samples=(Sample(text="<thought>a", content="a"),)
    )
    said = run_suites([suite], tmp_path, "-k", "samples or tokens or comes_back").messages[0]
    assert "'<think>', which is no marker" in said[0]
    assert "a sample must mean what it says" in said[1]
    assert "capabilities.opened must be what render() begins with" in said[2]


def test_another_prompt():
    base = ParserContext(prompt="a", template_kwargs={"b": 1}, parses_reasoning=True)
    assert context(base, "c") == replace(base, prompt="c")
