"""Answers that are held to a form and thought about first: parser on and off, thinking on and off, form on and off."""

from __future__ import annotations

import json

import msgspec
import pytest

from kernelet.contracts.sampling import SamplingParams, StructuredOutputsParams
from kernelet.engine.bootstrap import configure_engine, start, start_in_process
from kernelet.engine.llm import LLM
from kernelet.engine.option_sources import resolve_options
from kernelet.engine.remote.spawn import spawn_engine
from kernelet.testing.null.model import null_config, write_model

PARSERS = """
from kernelet.contracts.parsing import CONTENT, REASONING, Exit, JsonCallsState, ParserTable, TextState
from kernelet.contracts.parsing import CallSyntax, ReasoningParserOffer, ToolParserOffer
from kernelet.hookspecs import hookimpl


def thoughts(context):
    end = Exit("<|user|>", CONTENT, after="\\n")
    return ParserTable(
        states={REASONING: TextState(into=REASONING, exits=(end,))},
        content_exits=(Exit("<|assistant|>", REASONING, at_start=True), end),
        start=REASONING if context.prompt.endswith("<|assistant|>") else CONTENT,
    )


def calls(context):
    begin = Exit("<a>", "calls", opens=True)
    end = Exit("</a>", CONTENT, closes=True)
    return ParserTable(
        states={"calls": JsonCallsState(to="called"), "called": TextState(exits=(end, begin))},
        content_exits=(begin,),
        call_syntax=CallSyntax(before='<a>{"name": "', between='", "arguments": ', after="}</a>"),
    )


@hookimpl
def kernelet_reasoning_parsers():
    return (ReasoningParserOffer(name="thoughts", target=f"{__name__}:thoughts"),)


@hookimpl
def kernelet_tool_parsers():
    return (ToolParserOffer(name="calls", target=f"{__name__}:calls"),)
"""
TEMPLATE = "{{ messages[0].content }}{% if thinking %}<|assistant|>{% endif %}"
SCHEMA = {"type": "object", "properties": {"a": {"enum": ["b", 1]}}, "required": ["a"], "additionalProperties": False}
LETTERS = list(b'ab1 \n{}":<')
OPEN, CLOSE, EOS = 259, 258, 257
MESSAGES = [{"role": "user", "content": "hi"}]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = write_model(tmp_path_factory.mktemp("model"), null_config(max_model_len=2048))
    tokens = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps({**tokens, "chat_template": TEMPLATE}))
    return folder


@pytest.fixture(scope="module")
def plugin_file(tmp_path_factory):
    file = tmp_path_factory.mktemp("plugin") / "my_thoughts.py"
    file.write_text(PARSERS)
    return file


@pytest.fixture(scope="module")
def begin(folder, plugin_file):
    begun = []

    def begin(launch=start_in_process, **options):
        plugins = ["core", "kernelet.testing.null:plugin", "kernelet.testing.grammar_engine.reference:plugin"]
        options = {"plugins": plugins, "platform": "null", "reasoning_parser_plugin": str(plugin_file), **options}
        resolved = resolve_options(options, environ={})
        begun.append(start(configure_engine(str(folder), resolved), launch))
        llm = LLM.of(begun[-1])
        llm._finalizer.detach()
        return llm

    yield begin
    for frontend in begun:
        frontend.close()


@pytest.fixture(scope="module", params=["thread", pytest.param("process", marks=pytest.mark.long)])
def reasoning(begin, request):
    launch = start_in_process if request.param == "thread" else spawn_engine
    return begin(launch, reasoning_parser="thoughts", tool_call_parser="calls")


@pytest.fixture(scope="module")
def plain(begin):
    return begin()


def params(seed, *, held, max_tokens=300, **more):
    constraint = StructuredOutputsParams(json=SCHEMA) if held else None
    fields = {"seed": seed, "max_tokens": max_tokens, "structured_outputs": constraint, "temperature": 1.0}
    return SamplingParams(**{**fields, "allowed_token_ids": [*LETTERS, OPEN, CLOSE, EOS], **more})


def answers(llm, *, thinking, held, count=8, **more):
    wanted = [params(seed, held=held, **more) for seed in range(count)]
    asked = llm.chat([MESSAGES] * count, wanted, chat_template_kwargs={"thinking": thinking}, use_tqdm=False)
    return [request.outputs[0] for request in asked]


def is_right(text):
    try:
        value = json.loads(text)
    except ValueError:
        return False
    return isinstance(value, dict) and set(value) == {"a"} and value["a"] in ("b", 1)


@pytest.mark.parametrize("thinking", [True, False])
def test_what_was_held_parses(reasoning, thinking):
    found = answers(reasoning, thinking=thinking, held=True)
    assert {one.structured for one in found} == {"enforced"}
    assert all(is_right(one.message.content) for one in found)
    thought = [one for one in found if one.message.num_reasoning_tokens]
    assert len(thought) == len(found) if thinking else 0 < len(thought) < len(found)
    assert any(one.message.reasoning for one in found)


@pytest.mark.parametrize("thinking", [True, False])
def test_free_answers_are_parsed_as_ever(reasoning, thinking):
    found = answers(reasoning, thinking=thinking, held=False)
    assert {one.structured for one in found} == {None}
    # a free model ends when it likes, also while it thinks
    assert any(one.message.reasoning for one in found) or not thinking
    assert not all(is_right(one.message.content) for one in found)


@pytest.mark.long
@pytest.mark.parametrize("thinking", [True, False])
@pytest.mark.parametrize("held", [True, False])
def test_without_a_parser_a_form_holds_from_the_first_token(plain, thinking, held):
    found = answers(plain, thinking=thinking, held=held)
    assert {one.message for one in found} == {None}
    assert all(is_right(one.text) for one in found) == held
    assert {one.structured for one in found} == ({"enforced"} if held else {None})


def test_who_ends_while_it_thinks_has_not_met_its_form(reasoning):
    (cut,) = answers(reasoning, thinking=True, held=True, count=1, max_tokens=3, allowed_token_ids=LETTERS)
    assert (cut.finish_reason, cut.structured) == ("length", "unfinished")
    assert cut.message.content == ""
    stopped = answers(reasoning, thinking=True, held=True, count=8, stop="a")
    ends = {(one.structured, "a" in one.text) for one in stopped}
    assert ends <= {("unfinished", False), ("enforced", False)}
    assert ("unfinished", False) in ends


@pytest.mark.long
def test_the_operator_may_hold_reasoning_too(begin):
    llm = begin(reasoning_parser="thoughts", structured_in_reasoning=True)
    for thinking in (True, False):
        found = answers(llm, thinking=thinking, held=True, count=6)
        assert all(is_right(one.text) and is_right(one.message.content) for one in found)
        assert not any(one.message.reasoning for one in found)


TOOLS = [{"type": "function", "function": {"name": "f", "parameters": SCHEMA, "strict": True}}]


@pytest.mark.parametrize("thinking", [True, False])
def test_calls_behind_reasoning(reasoning, thinking):
    count = 4
    wanted = [
        SamplingParams(temperature=1.0, seed=seed, max_tokens=300, allowed_token_ids=None) for seed in range(count)
    ]
    wanted += [msgspec.structs.replace(one, max_tokens=place) for place, one in enumerate(wanted, start=2)]
    for choice in ("required", {"type": "function", "function": {"name": "f"}}):
        asked = reasoning.chat(
            [MESSAGES] * len(wanted),
            wanted,
            tools=TOOLS,
            tool_choice=choice,
            chat_template_kwargs={"thinking": thinking},
            use_tqdm=False,
        )
        found = [request.outputs[0] for request in asked]
        assert any(one.structured == "enforced" for one in found)
        for one in found:
            if one.structured == "enforced":
                assert one.message.tool_calls
                assert all(call.name == "f" and is_right(call.arguments) for call in one.message.tool_calls)
            else:
                assert not one.message.tool_calls or one.finish_reason == "length"
            assert one.message.content == "", "what there is of a call that was cut is no content"


@pytest.mark.parametrize("thinking", [True, False])
@pytest.mark.parametrize("strict", [True, False])
def test_calls_or_a_text_of_a_form(reasoning, thinking, strict):
    function = {**TOOLS[0]["function"], "strict": strict}
    asked = reasoning.chat(
        [MESSAGES] * 12,
        [params(seed, held=True, allowed_token_ids=None) for seed in range(12)],
        tools=[{"type": "function", "function": function}],
        chat_template_kwargs={"thinking": thinking},
        use_tqdm=False,
    )
    found = [request.outputs[0] for request in asked if request.outputs[0].structured == "enforced"]
    called = [one for one in found if one.message.tool_calls]
    assert 0 < len(called) < len(found)
    for one in found:
        if one.message.tool_calls:
            assert one.message.content == ""
            assert not strict or all(is_right(call.arguments) for call in one.message.tool_calls)
        else:
            assert is_right(one.message.content)
