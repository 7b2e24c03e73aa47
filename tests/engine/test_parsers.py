"""Answers are parsed in every frontend of an engine that is another process; a plugin file is the same in all."""

from __future__ import annotations

import asyncio

import pytest

from kernelet.contracts.sampling import SamplingParams
from kernelet.contracts.serving import ParsersInfo
from kernelet.engine.bootstrap import configure_engine, start
from kernelet.engine.llm import LLM
from kernelet.engine.option_sources import resolve_options
from kernelet.engine.remote.line import RemoteOptions
from kernelet.engine.remote.spawn import spawn_engine
from kernelet.errors import ManifestMismatchError
from kernelet.serve.engine import join
from kernelet.testing.null.model import null_config, write_model

SOURCE = """\
from kernelet.contracts.parsing import CONTENT, REASONING, Exit, NameState, ParserTable, TextState, ToolParserOffer
from kernelet.hookspecs import hookimpl


def table(context):
    return ParserTable(
        states={
            REASONING: TextState(into=REASONING, exits=(Exit("<|user|>", CONTENT),)),
            "name": NameState(exits=(Exit("A", "called"),)),
            "called": TextState(into="", exits=(Exit("Z", CONTENT, closes=True),)),
        },
        content_exits=(Exit("(", "name", opens=True), Exit("<|user|>", REASONING)),
    )


@hookimpl
def kernelet_tool_parsers():
    return (ToolParserOffer(name="names", target=f"{__name__}:table", chat_template_hints=("<|{{",)),)
"""
"""Calls are ``(nameA...Z``: what the null model's tokens make many of."""

PARAMS = SamplingParams(n=2, temperature=1.0, seed=5, max_tokens=100, allowed_token_ids=[*b"(AZx", 258])
TOOLS = [{"type": "function", "function": {"name": "f"}}]
MESSAGES = [{"role": "user", "content": "hi"}]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "names_parser.py"
    path.write_text(SOURCE)
    return path


@pytest.fixture
def configured(tmp_path, file):
    options = {
        "plugins": ["core", "kernelet.testing.null:plugin"],
        "platform": "null",
        "tool_parser_plugin": file,
        "tool_call_parser": "auto",
        "enable_auto_tool_choice": True,
    }
    folder = write_model(tmp_path / "m", null_config(max_model_len=1000))
    return configure_engine(str(folder), resolve_options(options, environ={}))


def told(output):
    """What was parsed of each choice, but for the ids of calls, which are made up."""
    messages = [choice.message for choice in output.outputs]
    return [
        (message.reasoning, message.content, [(call.name, call.arguments) for call in message.tool_calls])
        for message in messages
    ]


async def last_of(outputs):
    found = None
    async for output in outputs:
        found = output
    return found


def test_every_frontend_parses(configured):
    frontend = start(configured, lambda wanted: spawn_engine(wanted, RemoteOptions()))
    try:
        with LLM.of(frontend) as llm:
            (first,) = llm.chat(MESSAGES, PARAMS, tools=TOOLS)
            second = join(configured.kernel.manifest.encode(), configured.config, frontend.client.folder, 1)
            try:
                assert second.engine.parsers == ParsersInfo(tool="names", auto_tool_choice=True)
                again = asyncio.run(last_of(second.engine.chat(MESSAGES, PARAMS, tools=TOOLS)))
            finally:
                second.close()
    finally:
        frontend.close()
    assert [choice.token_ids for choice in again.outputs] == [choice.token_ids for choice in first.outputs]
    assert told(again) == told(first)
    assert any(calls for _, _, calls in told(first))


def test_a_file_that_changes_during_the_start_stops_it_and_both_sides_are_named(configured, file):
    file.write_text(SOURCE + "# changed\n")
    with pytest.raises(ManifestMismatchError) as caught:
        start(configured, lambda wanted: spawn_engine(wanted, RemoteOptions()))
    said = str(caught.value)
    assert said.startswith("this engine process and its parent do not run the same plugins:\n  names_parser: its files")
    assert f"in this engine process ({file.parent})" in said
    assert f"in its parent ({file.parent})" in said
