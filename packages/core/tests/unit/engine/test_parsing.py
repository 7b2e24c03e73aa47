from __future__ import annotations

import dataclasses
import logging

import pytest
import sample_parsers

from kernelet.config import PluginsConfig
from kernelet.contracts.parsing import (
    CONTENT,
    REASONING,
    Exit,
    NameState,
    ParserContext,
    ParserTable,
    ReasoningParserOffer,
    TextState,
    ToolParserOffer,
)
from kernelet.contracts.plugins import Owned
from kernelet.contracts.serving import ParsersInfo
from kernelet.engine.parsing import (
    NO_TOOLS,
    ChoiceParser,
    OutputParsing,
    Parsers,
    best_hinted,
    functions_of,
    make_parsers,
    resolve_parsers,
)
from kernelet.errors import ConfigError, ParameterError, PluginError, RequestFailedError, SelectionError
from kernelet.testing.plugin_view import FixedPlugins
from kernelet.text.detokenizer import Span
from kernelet.text.tokenizer import Tokenizer

TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
PLUGINS = FixedPlugins((*sample_parsers.kernelet_tool_parsers(), *sample_parsers.kernelet_reasoning_parsers()))
BOTH = PluginsConfig(tool_call_parser="calls", reasoning_parser="thoughts")


@pytest.fixture(scope="module")
def tokenizer(null_folder):
    return Tokenizer.from_folder(null_folder)


@pytest.fixture(scope="module")
def parsers(tokenizer):
    return make_parsers(BOTH, PLUGINS, tokenizer)


def resolved(*templates, plugins=PLUGINS, **config):
    found = resolve_parsers(PluginsConfig(**config), plugins, lambda: templates)
    return found.tool_call_parser, found.reasoning_parser


def said(parsing, text):
    parser = parsing.new_parser()
    parser.push([Span(text, (1,))])
    message = parser.finish()
    return message.reasoning, message.content, [(call.name, call.arguments) for call in message.tool_calls]


# --- which parsers run ---------------------------------------------------------------------------


def test_names_are_taken_and_nothing_is_read_for_them():
    def read():
        raise AssertionError("the template was read")

    assert resolve_parsers(BOTH, PLUGINS, read) == BOTH
    assert resolve_parsers(PluginsConfig(), PLUGINS, read) == PluginsConfig()


def test_auto_asks_the_chat_templates():
    template = "{{ '<think>' }} ... {{ '</think>' }}{{ '<call>' }}"
    assert resolved(template, tool_call_parser="auto", reasoning_parser="auto") == ("calls", "thoughts")
    assert resolved("plain", template, tool_call_parser="auto") == ("calls", None)


def test_all_hints_must_be_in_one_template(caplog):
    with caplog.at_level(logging.WARNING):
        assert resolved("<think>", "</think>", reasoning_parser="auto") == (None, None)
    (record,) = caplog.records
    assert record.getMessage() == (
        "--reasoning-parser auto: no parser fits the chat template, so nothing is parsed; give --reasoning-parser NAME"
    )
    assert resolved("x", plugins=FixedPlugins(()), tool_call_parser="auto") == (None, None)
    assert (
        caplog.records[1].getMessage().endswith("so nothing is parsed; none is installed: install a package of parsers")
    )


def owned(name, *hints, priority=0):
    offer = ToolParserOffer(name=name, target="a:b", chat_template_hints=hints, priority=priority)
    return Owned(offer=offer, plugin="p")


@pytest.mark.parametrize(
    "offers, best",
    [
        ([owned("a", "x"), owned("b", "x", "y")], ["b"]),
        ([owned("a", "x"), owned("b", "x", "missing")], ["a"]),
        ([owned("a", "x"), owned("b", "y")], ["a", "b"]),
        ([owned("a", "x"), owned("b", "y", priority=1)], ["b"]),
        ([owned("a", "x", "y"), owned("b", "y", priority=1)], ["a"]),
        ([owned("a"), owned("b")], []),
        ([], []),
    ],
)
def test_the_one_with_the_most_hints_wins(offers, best):
    assert [one.offer.name for one in best_hinted(offers, ["x and y"])] == best


def test_a_tie_names_both():
    offers = [ToolParserOffer(name=name, target="a:b", chat_template_hints=("x",)) for name in ("one", "two")]
    with pytest.raises(SelectionError, match=r"auto: several .* equally well: one \(reference\), two \(reference\)"):
        resolved("x", plugins=FixedPlugins(offers), tool_call_parser="auto")


def test_a_name_that_nobody_offers():
    with pytest.raises(SelectionError):
        resolved(tool_call_parser="thoughts")  # it is a reasoning parser
    with pytest.raises(SelectionError):
        make_parsers(PluginsConfig(reasoning_parser="calls"), PLUGINS, None)


@pytest.mark.parametrize("template, warns", [("{{ messages }}{{ stools }}", True), ("{% if tools %}", False)])
def test_tools_that_the_template_never_reads_are_told_at_the_start(template, warns, caplog):
    with caplog.at_level(logging.WARNING):
        resolved("plain", template, auto_tool_choice=True, tool_call_parser="calls")
    assert [record.getMessage() for record in caplog.records] == [NO_TOOLS] * warns


def test_a_parser_that_fails_at_the_start_says_where(tokenizer):
    def make(context):
        raise OSError("x")

    plugins = FixedPlugins([ToolParserOffer(name="t", target="x")], {"x": make})
    with pytest.raises(PluginError, match=r"OSError: x \(.*test_parsing\.py, line \d+\)$"):
        make_parsers(PluginsConfig(tool_call_parser="t"), plugins, tokenizer)


def test_tools_need_a_parser():
    with pytest.raises(ConfigError, match=r"give --tool-call-parser NAME. Choices: calls, fails"):
        resolved(auto_tool_choice=True)
    with pytest.raises(ConfigError, match=r"and --tool-call-parser auto found none that fits"):
        resolved("plain", auto_tool_choice=True, tool_call_parser="auto")
    with pytest.raises(ConfigError, match="Choices: none; install"):
        resolved(auto_tool_choice=True, plugins=FixedPlugins(()))
    assert resolved(auto_tool_choice=True, tool_call_parser="calls") == ("calls", None)


def test_text_needs_a_tokenizer():
    with pytest.raises(ConfigError, match="tool parser 'calls' needs text, but the model has no tokenizer"):
        make_parsers(BOTH, PLUGINS, None)
    assert make_parsers(PluginsConfig(), PLUGINS, None) == Parsers()


def test_a_parser_that_fails_stops_the_start(tokenizer):
    config = PluginsConfig(tool_call_parser="fails")
    with pytest.raises(PluginError, match="tool parser 'fails' failed: LookupError: no table today"):
        make_parsers(config, PLUGINS, tokenizer)


@pytest.mark.parametrize(
    "made, message",
    [
        ({}, r"it returned \{\} \(dict\), not a ParserTable"),
        (ParserTable(start="x"), r"tool parser 'fails': .*begins with 'x'"),
    ],
)
def test_a_parser_without_a_table_stops_the_start(tokenizer, made, message):
    view = FixedPlugins(sample_parsers.kernelet_tool_parsers(), {"sample_parsers:fails": lambda context: made})
    with pytest.raises(PluginError, match=message):
        make_parsers(PluginsConfig(tool_call_parser="fails"), view, tokenizer)


def test_a_parser_that_fails_for_a_request_alone(tokenizer, caplog):
    def table(context):
        return ParserTable(start="content" if context.prompt == "" else "nowhere")

    plugins = FixedPlugins([ToolParserOffer(name="t", target="x")], {"x": table})
    parsers = make_parsers(PluginsConfig(tool_call_parser="t"), plugins, tokenizer)
    assert not caplog.records
    with pytest.raises(RequestFailedError, match="begins with 'nowhere'"):
        parsers.parsing("p", TOOLS)
    assert "begins with 'nowhere'" in caplog.text


def test_two_that_cannot_run_together_stop_the_start(tokenizer):
    table = ParserTable(states={"same": TextState(exits=())})
    offers = [ToolParserOffer(name="t", target="x"), ReasoningParserOffer(name="r", target="x")]
    config = PluginsConfig(tool_call_parser="t", reasoning_parser="r")
    with pytest.raises(PluginError, match=r"tool parser 't' and reasoning parser 'r': .*'same'.*leave out"):
        make_parsers(config, FixedPlugins(offers, {"x": lambda context: table}), tokenizer)


def test_what_servers_are_told(parsers):
    assert parsers.info == ParsersInfo(tool="calls", reasoning="thoughts", auto_tool_choice=False)
    assert dataclasses.replace(parsers, auto_tool_choice=True).info.auto_tool_choice
    assert Parsers().info == ParsersInfo()


# --- what runs for a request ---------------------------------------------------------------------

TEXT = '<think>why</think>\nso<call>{"name": "f", "arguments": {"a": 1}}</call>.'


def test_what_is_parsed_depends_on_the_request(parsers):
    assert said(parsers.parsing("p", TOOLS), TEXT) == ("why", "so.", [("f", '{"a": 1}')])
    assert said(parsers.parsing("p", TOOLS, "none"), TEXT) == ("why", "so.", [])
    rest = TEXT.partition("\n")[2]
    for tools in (None, []):
        assert said(parsers.parsing("p", tools), TEXT) == ("why", rest, [])
    assert said(parsers.parsing("p<think>", TOOLS), "a</think>b") == ("a", "b", [])
    assert said(parsers.parsing("p", TOOLS, template_kwargs={"thinking": True}), "a</think>b") == ("a", "b", [])


def test_one_parser_alone(tokenizer):
    tool = make_parsers(PluginsConfig(tool_call_parser="calls"), PLUGINS, tokenizer)
    assert tool.parsing("p") is None
    assert said(tool.parsing("p", TOOLS), TEXT)[:2] == ("", "<think>why</think>\nso.")
    reasoning = make_parsers(PluginsConfig(reasoning_parser="thoughts"), PLUGINS, tokenizer)
    assert said(reasoning.parsing("p", TOOLS), TEXT) == ("why", TEXT.partition("\n")[2], [])
    assert Parsers().parsing("p", TOOLS) is None


def test_another_tool_choice_is_none_of_a_parsers():
    with pytest.raises(ParameterError, match="tool_choice: no tool parser runs"):
        Parsers().parsing("p", TOOLS, "required")


def test_what_a_parser_knows_of_its_request(tokenizer):
    seen = []

    def table(context):
        seen.append(context)
        return ParserTable()

    offers = [ToolParserOffer(name="t", target="x"), ReasoningParserOffer(name="r", target="x")]
    config = PluginsConfig(tool_call_parser="t", reasoning_parser="r")
    parsers = make_parsers(config, FixedPlugins(offers, {"x": table}), tokenizer)
    seen.clear()
    parsers.parsing("prompt", TOOLS, template_kwargs={"k": 1})
    function = {"name": "f", "parameters": {"type": "object"}}
    context = ParserContext(
        tools=(function,), prompt="prompt", template_kwargs={"k": 1}, parses_tools=True, parses_reasoning=True
    )
    assert seen == [context, context]
    seen.clear()
    parsers.parsing("prompt")
    assert seen == [ParserContext(prompt="prompt", parses_reasoning=True)]


def test_markers_are_tokens_where_the_tokenizer_never_cuts_them(tokenizer):
    def table(context):
        exits = (Exit("<|user|>", REASONING), Exit("(", "name"), Exit("<call>", "name"))
        states = {
            REASONING: TextState(into=REASONING, exits=(Exit("<|assistant|>", CONTENT),)),
            "name": NameState(exits=(Exit(")", CONTENT, closes=True),)),
        }
        return ParserTable(states=states, content_exits=exits)

    plugins = FixedPlugins([ToolParserOffer(name="t", target="x")], {"x": table})
    parsing = make_parsers(PluginsConfig(tool_call_parser="t"), plugins, tokenizer).parsing("p", TOOLS)
    user, assistant = (tokenizer.token_to_id(text) for text in ("<|user|>", "<|assistant|>"))
    assert tokenizer.token_to_id("(") is not None  # a token too, but one that text is cut into
    assert parsing.marker_ids == {user, assistant}
    parser = parsing.new_parser()
    parser.push([Span("<|user|>a", (1,)), Span("<|user|>", (user,), special=True), Span("b", (2,))])
    assert (parser.message.reasoning, parser.message.content) == ("b", "<|user|>a")


def test_functions():
    bare = {"name": "g"}
    assert functions_of([TOOLS[0], bare, {"type": "other"}, {"type": "function", "function": None}]) == (
        TOOLS[0]["function"],
        bare,
    )


def test_each_choice_has_a_parser_of_its_own(parsers):
    parsing = parsers.parsing("p", TOOLS)
    first, second = parsing.new_parser(), parsing.new_parser()
    first.push([Span("<think>a", (1,))])
    second.push([Span("b", (1,))])
    assert (first.finish().reasoning, second.finish().content) == ("a", "b")
    assert second.message.reasoning == ""


def test_a_parser_that_fails_later_fails_its_request(parsers, caplog):
    def read(name):
        raise ValueError("bad name")

    states = {"name": NameState(exits=(Exit(")", CONTENT),), read=read)}
    table = ParserTable(states=states, content_exits=(Exit("(", "name"),))
    good = parsers.parsing("p", TOOLS)
    parser = ChoiceParser(OutputParsing(table=type(good.table)(table), label="tool parser 'x'"))
    parser.push([Span("a(", (1,))])
    with pytest.raises(RequestFailedError, match="tool parser 'x' failed: ValueError: bad name"):
        parser.push([Span("b)", (1,))])
    assert "tool parser 'x' failed" in caplog.text
    assert parser.message.content == "a"
