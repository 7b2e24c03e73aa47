"""Gemma 4: the name and an object with bare keys, whose strings stand between quotes that are tokens."""

from __future__ import annotations

from kernelet.contracts.parsing import Exit, NameState, ParserContext, ParserTable, QuotedArgumentsState
from kernelet_parsers_tool.parts import behind, closing, identifier, opening, stray

QUOTE = '<|"|>'


def gemma4(_: ParserContext) -> ParserTable:
    """``<|tool_call>call:name{key:value}<tool_call|>``."""
    opens = opening(("<|tool_call>", "call:"), "name")
    return ParserTable(
        states={
            "name": NameState(exits=(Exit("{", "arguments", keeps=True),), read=identifier),
            "arguments": QuotedArgumentsState(to="behind", quote=QUOTE),
            "behind": behind(closing("<tool_call|>"), opens),
        },
        content_exits=(opens, *stray("<tool_call|>", QUOTE)),
    )
