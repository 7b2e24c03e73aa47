from __future__ import annotations

import pytest
import sample_parsers

from kernelet.config import PluginsConfig
from kernelet.engine.continued import parse_continued, thought_begins
from kernelet.engine.parsing import Parsers, make_parsers
from kernelet.testing.plugin_view import FixedPlugins
from kernelet.text.detokenizer import Span
from kernelet.text.tokenizer import Tokenizer

PLUGINS = FixedPlugins((*sample_parsers.kernelet_tool_parsers(), *sample_parsers.kernelet_reasoning_parsers()))


@pytest.fixture(scope="module")
def parsers(null_folder):
    return make_parsers(PluginsConfig(reasoning_parser="thoughts"), PLUGINS, Tokenizer.from_folder(null_folder))


@pytest.mark.parametrize(
    "said, after",
    [
        ("<think>I", ("I see", "So.")),
        ("<think>", ("I see", "So.")),
        ("<think>once</think>\nSo", ("", "I seeSo.")),
        ("<think>a</think><think>b", ("I see", "So.")),
        ("Well", ("", "I seeSo.")),
        ("", ("", "I seeSo.")),
    ],
)
def test_a_thought_that_the_message_opened_goes_on(parsers, said, after):
    messages = [{"role": "user", "content": "<think>"}, {"role": "assistant", "content": said}]
    parser = parse_continued(f"<think>\n{said}", messages, parsers.parsing).new_parser()
    parser.push([Span("I see</think>\nSo.", (1,))])
    message = parser.finish()
    assert (message.reasoning, message.content) == after


def test_a_prompt_without_the_message_is_parsed_as_it_is(parsers):
    messages = [{"role": "assistant", "content": "<think>gone"}]
    parser = parse_continued("kept", messages, parsers.parsing).new_parser()
    assert not parser.in_reasoning
    assert parse_continued("<think>", [], parsers.parsing).new_parser().in_reasoning
    assert parse_continued("<think>", [{"content": [{"text": "a"}]}], parsers.parsing).new_parser().in_reasoning


def test_without_parsers():
    assert parse_continued("a", [{"content": "a"}], Parsers().parsing) is None


def test_where_a_thought_begins(parsers):
    parsing = parsers.parsing("p")
    assert thought_begins(parsing, "<think>ab") == len("<think>")
    assert thought_begins(parsing, "<think>a</think>b") is None
    assert thought_begins(parsers.parsing("<think>"), "ab") == 0
