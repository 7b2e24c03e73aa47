"""Parsers for tests, in the form of a plugin file: calls in ``<call>``, thoughts in ``<think>``."""

from __future__ import annotations

from kernelet.contracts.parsing import (
    CONTENT,
    REASONING,
    WHITESPACE,
    Exit,
    JsonCallsState,
    ParserTable,
    ReasoningParserOffer,
    TextState,
    ToolParserOffer,
)
from kernelet.hookspecs import hookimpl


def calls(context):
    begin = Exit("<call>", "calls", before=WHITESPACE, opens=True)
    end = Exit("</call>", CONTENT, before=WHITESPACE, closes=True)
    return ParserTable(
        states={"calls": JsonCallsState(to="called"), "called": TextState(skip=WHITESPACE, exits=(end, begin))},
        content_exits=(begin, Exit("</call>", CONTENT)),
    )


def thoughts(context):
    end = Exit("</think>", CONTENT, after="\n")
    opened = context.prompt.endswith("<think>") or context.template_kwargs.get("thinking", False)
    return ParserTable(
        states={REASONING: TextState(into=REASONING, exits=(end,))},
        content_exits=(Exit("<think>", REASONING), end),
        start=REASONING if opened else CONTENT,
    )


def fails(context):
    raise LookupError("no table today")


@hookimpl
def kernelet_tool_parsers():
    return (
        ToolParserOffer(
            name="calls",
            target=f"{__name__}:calls",
            chat_template_hints=("<call>",),
            summary='{"name": ..., "arguments": ...} between <call> and </call>',
        ),
        ToolParserOffer(name="fails", target=f"{__name__}:fails"),
    )


@hookimpl
def kernelet_reasoning_parsers():
    return (
        ReasoningParserOffer(
            name="thoughts",
            target=f"{__name__}:thoughts",
            chat_template_hints=("<think>", "</think>"),
            summary="what stands between <think> and </think>",
        ),
    )
