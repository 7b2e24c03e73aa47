"""Families whose calls are JSON between markers: ``<tool_call>{"name": ..., "arguments": ...}</tool_call>``."""

from __future__ import annotations

from kernelet.contracts.parsing import CallSyntax, JsonCallsState, ParserContext, ParserTable
from kernelet_parsers_tool.parts import behind, closing, opening, stray, written

Marker = str | tuple[str, ...]


def hermes(_: ParserContext) -> ParserTable:
    """Hermes 2 and 3, Qwen 2.5 and 3, Granite 4: one object between the markers."""
    syntax = written("<tool_call>\n", "\n</tool_call>", separator="\n")
    return _table(("<tool_call>",), ("</tool_call>",), syntax)


def granite(_: ParserContext) -> ParserTable:
    """Granite 3: a list behind a marker, which is a token or plain text."""
    syntax = written(begin="<|tool_call|>[", separator=", ", end="]")
    return _table(("<|tool_call|>", "<tool_call>"), ("</tool_call>",), syntax, many=True)


def internlm(_: ParserContext) -> ParserTable:
    """InternLM 2: one object between two tokens and one."""
    syntax = written("<|action_start|><|plugin|>\n", "<|action_end|>", key="parameters")
    return _table((("<|action_start|>", "<|plugin|>"),), ("<|action_end|>",), syntax)


def jamba(_: ParserContext) -> ParserTable:
    """Jamba 1.5: a list between markers."""
    syntax = written(begin="<tool_calls>[\n    ", separator=",\n    ", end="\n]</tool_calls>")
    return _table(("<tool_calls>",), ("</tool_calls>",), syntax, many=True)


def phi4_mini(_: ParserContext) -> ParserTable:
    """Phi-4-mini: ``functools[...]``, or a list between markers."""
    syntax = written(begin="functools[", separator=", ", end="]")
    return _table((("functools", "["), "<|tool_call|>"), ("<|/tool_call|>",), syntax, many=True, keeps=True)


def _table(
    openings: tuple[Marker, ...],
    closings: tuple[str, ...],
    syntax: CallSyntax,
    *,
    many: bool = False,
    keeps: bool = False,
) -> ParserTable:
    """A table.

    Args:
        openings: What stands before the JSON.
        closings: What stands behind it.
        syntax: All of it.
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
        call_syntax=syntax,
    )
