from __future__ import annotations

from dataclasses import replace

import pytest
from kit import run_suites

from kernelet.testing.parsing.sample import Sample
from kernelet.testing.tool_parser import ToolParserCapabilities
from kernelet.testing.tool_parser.faults import JSON, XML, suite_of
from kernelet.testing.tool_parser.reference import (
    json_table,
    python_table,
    write_json,
    write_python,
    write_xml,
    xml_table,
)

PYTHON = ToolParserCapabilities(types="python", content_before=False, content_between=False)
CUT = Sample(text='a<call>{"name":"f","arguments":{"x":', content="a", calls=(("f", '{"x":'),), cut=True)
FORMATS = {
    "json": (json_table, write_json, replace(JSON, samples=(CUT,)), 20),
    "xml": (xml_table, write_xml, XML, 20),
    "python": (python_table, write_python, PYTHON, 18),
}


@pytest.mark.parametrize("name", ["json", pytest.param("xml", marks=pytest.mark.long), "python"])
def test_the_references_pass(name, tmp_path):
    table, write, promises, passed = FORMATS[name]
    listener = run_suites([suite_of(table, write, promises)], tmp_path)
    assert not listener.messages
    assert listener.passed[0] == passed


def test_samples_and_tokens_are_held_against_the_table(tmp_path):
    wrong = replace(JSON, samples=(replace(CUT, content="b"),), tokens=("<call>", "<other>"))
    suite = suite_of(json_table, write_json, wrong)
    said = run_suites([suite], tmp_path, "-k", "samples or tokens").messages[0]
    assert "a sample must mean what it says" in said[1]
    assert "'<other>', which is no marker" in said[0]
