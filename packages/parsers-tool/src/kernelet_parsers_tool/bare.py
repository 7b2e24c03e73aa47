"""Families whose calls begin where the answer begins: JSON objects or lists, or Python."""

from __future__ import annotations

from dataclasses import replace

from kernelet.contracts.parsing import (
    CONTENT,
    WHITESPACE,
    Exit,
    JsonCallsState,
    ParserContext,
    ParserTable,
    PythonCallsState,
)
from kernelet_parsers_tool.parts import behind, closing, opening, stray, written


def llama3_json(context: ParserContext) -> ParserTable:
    """Llama 3.1, 3.2, 3.3 and 4: the answer is one object, or objects with semicolons between them."""
    tagged = opening("<|python_tag|>", "tagged")
    calls = JsonCallsState(to=CONTENT, separators=";", inside=("function",))
    return ParserTable(
        states={"calls": replace(calls, declared=names(context)), "tagged": calls},
        content_exits=(_first("{", "calls"), tagged),
        call_syntax=written(key="parameters", separator="; "),
    )


def pythonic(context: ParserContext) -> ParserTable:
    """Llama 4 and Llama 3.2: the answer is a Python list of calls, with or without markers around it."""
    opens = opening("<|python_start|>", "tagged")
    calls = PythonCallsState(to="behind")
    return ParserTable(
        states={
            "calls": replace(calls, declared=names(context) or None),
            "tagged": calls,
            "behind": behind(closing("<|python_end|>"), opens),
        },
        content_exits=(_first("[", "calls"), opens, *stray("<|python_end|>")),
    )


def olmo3(_: ParserContext) -> ParserTable:
    """OLMo 3: lines of Python between markers."""
    opens = opening("<function_calls>", "calls")
    return ParserTable(
        states={
            "calls": PythonCallsState(to="behind", bracketed=False),
            "behind": behind(replace(closing("</function_calls>"), before=f"{WHITESPACE},"), opens),
        },
        content_exits=(opens, *stray("</function_calls>")),
    )


def xlam(context: ParserContext) -> ParserTable:
    """Of xLAM 2: the answer is a list of calls; also one in a code fence, or between markers."""
    fenced = opening(("```json", "["), "fenced", keeps=True)
    tagged = opening("<tool_call>", "tagged")
    return ParserTable(
        states={
            "calls": JsonCallsState(to=CONTENT, many=True, declared=names(context)),
            "fenced": JsonCallsState(to="behind fence", many=True, declared=names(context)),
            "behind fence": behind(closing("```"), tagged),
            "tagged": JsonCallsState(to="behind tag", many=True),
            "behind tag": behind(closing("</tool_call>"), tagged, fenced),
        },
        content_exits=(_first("[", "calls"), fenced, tagged, *stray("</tool_call>")),
        call_syntax=written(begin="[", separator=", ", end="]"),
    )


def names(context: ParserContext) -> frozenset[str]:
    """The functions that the request declares."""
    return frozenset(tool["name"] for tool in context.tools)


def _first(marker: str, to: str) -> Exit:
    return Exit(marker, to, before=WHITESPACE, at_start=True, keeps=True)
