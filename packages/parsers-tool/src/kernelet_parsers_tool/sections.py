"""Families whose calls stand in a section of tokens, with the name outside the JSON: DeepSeek, Kimi."""

from __future__ import annotations

import re
from typing import Final

from kernelet.contracts.parsing import (
    WHITESPACE,
    ArgumentsState,
    CallName,
    CallSyntax,
    Exit,
    HeaderState,
    NameState,
    ParserContext,
    ParserTable,
    Turn,
)
from kernelet_parsers_tool.parts import behind, closing, identifier, opening, stray

BEGIN, END = "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"
CALL, SEPARATOR, CALL_END = "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>"

_KIMI_ID: Final = re.compile(r"(?:functions\.)?([\w.\-]+?)(?::[0-9]+)?")


def deepseek_v3(_: ParserContext) -> ParserTable:
    """DeepSeek V3 and R1: a kind, a name, and the arguments in a code fence."""
    opens = opening(BEGIN, "section"), opening(CALL, "kind")
    ends = closing(CALL_END, "section"), closing(END), opening(CALL, "kind")
    return ParserTable(
        states={
            "section": behind(opening(CALL, "kind"), Exit(END, "content", before=WHITESPACE)),
            "kind": HeaderState(exits=(Exit(SEPARATOR, "name"),), read=lambda _: Turn("name"), limit=64),
            "name": NameState(exits=(Exit("```json", "fenced"), Exit("{", "arguments", keeps=True)), read=identifier),
            "arguments": ArgumentsState(to="behind"),
            "fenced": ArgumentsState(to="fence"),
            "fence": behind(Exit("```", "behind", before=WHITESPACE), *ends),
            "behind": behind(*ends),
        },
        content_exits=(*opens, *stray(END, CALL_END)),
        call_syntax=CallSyntax(
            begin=BEGIN,
            before=f"{CALL}function{SEPARATOR}",
            between="\n```json\n",
            after=f"\n```{CALL_END}",
            separator="\n",
            end=END,
        ),
    )


def deepseek_v31(_: ParserContext) -> ParserTable:
    """DeepSeek V3.1: a name and the arguments, without a fence."""
    opens = opening(BEGIN, "section"), opening(CALL, "name")
    return ParserTable(
        states={
            "section": behind(opening(CALL, "name"), Exit(END, "content", before=WHITESPACE)),
            "name": NameState(exits=(Exit(SEPARATOR, "arguments"),), read=identifier),
            "arguments": ArgumentsState(to="behind"),
            "behind": behind(closing(CALL_END, "section"), closing(END), opening(CALL, "name")),
        },
        content_exits=(*opens, *stray(END, CALL_END)),
        call_syntax=CallSyntax(begin=BEGIN, before=CALL, between=SEPARATOR, after=CALL_END, end=END),
    )


def kimi_k2(_: ParserContext) -> ParserTable:
    """Kimi K2: an id that says the name, ``functions.get_weather:0``, and the arguments."""
    call = opening("<|tool_call_begin|>", "name", in_reasoning=True)
    begins = tuple(
        opening(marker, "section", in_reasoning=True)
        for marker in ("<|tool_calls_section_begin|>", "<|tool_call_section_begin|>")
    )
    ends = "<|tool_calls_section_end|>", "<|tool_call_section_end|>"
    return ParserTable(
        states={
            "section": behind(call, *(Exit(end, "content", before=WHITESPACE) for end in ends)),
            "name": NameState(exits=(Exit("<|tool_call_argument_begin|>", "arguments"),), read=_kimi_name),
            "arguments": ArgumentsState(to="behind"),
            "behind": behind(closing("<|tool_call_end|>", "section"), *(closing(end) for end in ends), call),
        },
        content_exits=(*begins, call, *stray(*ends, "<|tool_call_end|>")),
        call_syntax=CallSyntax(
            begin="<|tool_calls_section_begin|>",
            before="<|tool_call_begin|>functions.",
            number=":",
            between="<|tool_call_argument_begin|>",
            after="<|tool_call_end|>",
            end="<|tool_calls_section_end|>",
        ),
    )


def _kimi_name(text: str) -> CallName:
    found = _KIMI_ID.fullmatch(text.strip())
    return CallName(found[1], id=text.strip()) if found else CallName("")
