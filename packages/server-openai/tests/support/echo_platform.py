"""A platform whose model says what the last user's message is, token by token; and parsers of several families."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from tokenizers import AddedToken, Tokenizer

from kernelet import AsyncLLM
from kernelet.contracts.parsing import (
    CONTENT,
    REASONING,
    WHITESPACE,
    ArgumentsState,
    Exit,
    JsonCallsState,
    NameState,
    ParameterNameState,
    ParameterValueState,
    ParserContext,
    ParserTable,
    PythonCallsState,
    ReasoningParserOffer,
    TextState,
    ToolParserOffer,
)
from kernelet.contracts.platform import PlatformOffer
from kernelet.hookspecs import hookimpl
from kernelet.testing.null.batch import HeldRequest
from kernelet.testing.null.model import null_config, write_model
from kernelet.testing.null.plugin import NullPlugin
from kernelet.testing.null.worker import NullWorker

EOS, USER, ASSISTANT = 257, 258, 259
MARKERS = ("<think>", "</think>", "<tool_call>", "</tool_call>", "<call>")
PLUGINS = ("core", "echo_platform:plugin")


class EchoWorker(NullWorker):
    """Says what stands between the last user's token and the assistant's behind it, then the end."""

    def next_token(self, held: HeldRequest) -> int:
        prompt, said = held.token_ids[: held.data.num_prompt_tokens], len(held.token_ids) - held.data.num_prompt_tokens
        start = len(prompt) - prompt[::-1].index(USER)
        script = prompt[start : prompt.index(ASSISTANT, start)]
        return script[said] if said < len(script) else EOS


class EchoPlugin(NullPlugin):
    """The platform, and parsers that need no model of their own."""

    name = "platform-echo"

    @hookimpl
    def kernelet_platforms(self) -> tuple[PlatformOffer, ...]:
        return (
            PlatformOffer(
                name="echo",
                target="kernelet.testing.null.platform:NullDevice",
                probe="kernelet.testing.null.platform:probe",
                config="kernelet.testing.null.platform:NullConfig",
                worker="echo_platform:EchoWorker",
                summary="Says what it is told.",
            ),
        )

    @hookimpl
    def kernelet_tool_parsers(self) -> Sequence[ToolParserOffer]:
        return (ToolParserOffer(name="several", target="echo_platform:calls"),)

    @hookimpl
    def kernelet_reasoning_parsers(self) -> Sequence[ReasoningParserOffer]:
        return (ReasoningParserOffer(name="think", target="echo_platform:thoughts"),)


plugin = EchoPlugin()


def calls(context: ParserContext) -> ParserTable:
    """JSON, XML, a name before its arguments, and Python: a family each."""
    del context
    end = Exit("</tool_call>", CONTENT, before=WHITESPACE, closes=True)
    values = (
        Exit(("</parameter>", "<parameter="), "key", before="\n"),
        Exit(("</parameter>", "</function>"), CONTENT, before="\n", closes=True),
    )
    return ParserTable(
        states={
            "json": JsonCallsState(to="json end"),
            "json end": TextState(skip=WHITESPACE, exits=(end, Exit("<tool_call>", "json", before="\n", opens=True))),
            "name": NameState(exits=(Exit(">", "inside"),)),
            "inside": TextState(into="", exits=(Exit("<parameter=", "key"), Exit("</function>", CONTENT, closes=True))),
            "key": ParameterNameState(exits=(Exit(">", "value"),)),
            "value": ParameterValueState(skip="\n", exits=values),
            "before": NameState(exits=(Exit("{", "arguments", keeps=True),)),
            "arguments": ArgumentsState(to=CONTENT),
            "python": PythonCallsState(to=CONTENT),
        },
        content_exits=(
            Exit("<tool_call>", "json", before="\n", opens=True),
            Exit("<function=", "name", opens=True),
            Exit("<call>", "before", opens=True),
            Exit("[", "python", at_start=True, keeps=True),
        ),
    )


def thoughts(context: ParserContext) -> ParserTable:
    """Text between two tags."""
    del context
    return ParserTable(
        states={REASONING: TextState(into=REASONING, exits=(Exit("</think>", CONTENT, after="\n"),))},
        content_exits=(Exit("<think>", REASONING),),
    )


def echo_engine(
    folder: Path, markers: Sequence[str] = MARKERS, plugins: Sequence[str] = PLUGINS, **options: object
) -> AsyncLLM:
    """An engine on the platform; its tokens are bytes, and the markers. It cannot be held to anything."""
    path = write_model(folder, null_config(max_model_len=4096, vocab_size=260 + len(markers)))
    tokenizer = Tokenizer.from_file(str(path / "tokenizer.json"))
    tokenizer.add_special_tokens([AddedToken(marker, special=True) for marker in markers])
    tokenizer.save(str(path / "tokenizer.json"))
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith("KERNELET_"):
                patch.delenv(name)
        return AsyncLLM(str(path), plugins=list(plugins), platform="echo", structured_fallback="validate", **options)
