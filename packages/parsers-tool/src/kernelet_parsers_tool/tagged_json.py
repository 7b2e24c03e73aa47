"""Families whose calls are JSON between markers: ``<tool_call>{"name": ..., "arguments": ...}</tool_call>``."""

from __future__ import annotations

from kernelet.contracts.parsing import JsonCallsState, ParserContext, ParserTable
from kernelet_parsers_tool.parts import behind, closing, opening, stray

Marker = str | tuple[str, ...]


def hermes(_: ParserContext) -> ParserTable:
    """Hermes 2 and 3, Qwen 2.5 and 3, Granite 4: one object between the markers."""
    return _table(("<tool_call>",), ("</tool_call>",))


def granite(_: ParserContext) -> ParserTable:
    """Granite 3: a list behind a marker, which is a token or plain text."""
    return _table(("<|tool_call|>", "<tool_call>"), ("</tool_call>",), many=True)


def internlm(_: ParserContext) -> ParserTable:
    """InternLM 2: one object between two tokens and one."""
    return _table((("<|action_start|>", "<|plugin|>"),), ("<|action_end|>",))


def jamba(_: ParserContext) -> ParserTable:
    """Jamba 1.5: a list between markers."""
    return _table(("<tool_calls>",), ("</tool_calls>",), many=True)


def phi4_mini(_: ParserContext) -> ParserTable:
    """Phi-4-mini: ``functools[...]``, or a list between markers."""
    return _table((("functools", "["), "<|tool_call|>"), ("<|/tool_call|>",), many=True, keeps=True)


def _table(
    openings: tuple[Marker, ...], closings: tuple[str, ...], *, many: bool = False, keeps: bool = False
) -> ParserTable:
    """A table.

    Args:
        openings: What stands before the JSON.
        closings: What stands behind it.
        many: A list of calls.
        keeps: Openings of two texts end with the JSON's first character.
    """
    opens = tuple(opening(marker, "calls", keeps=keeps and isinstance(marker, tuple)) for marker in openings)
    return ParserTable(
        states={
            "calls": JsonCallsState(to="behind", many=many, inside=("function",)),
            "behind": behind(*(closing(marker) for marker in closings), *opens),
        },
        content_exits=(*opens, *stray(*closings)),
    )
