"""Mistral: a list of calls, or calls one by one with their names outside the JSON."""

from __future__ import annotations

import random
import re
import string
from typing import Final

from kernelet.contracts.parsing import (
    CONTENT,
    ArgumentsState,
    CallName,
    CallSyntax,
    Exit,
    HeaderState,
    JsonCallsState,
    ParserContext,
    ParserTable,
    Turn,
)
from kernelet_parsers_tool.parts import behind, opening, stray

CALLS, ID, ARGUMENTS = "[TOOL_CALLS]", "[CALL_ID]", "[ARGS]"

_HEADER: Final = re.compile(r"\s*([\w.:/\-]+)\s*(?:\[CALL_ID\]\s*([a-zA-Z0-9]+)\s*)?")


def mistral(_: ParserContext) -> ParserTable:
    """``[TOOL_CALLS][{...}]`` (until 2024), ``[TOOL_CALLS]name[ARGS]{...}``, also with ``[CALL_ID]`` before it."""
    opens = opening(CALLS, "header")
    return ParserTable(
        states={
            "header": HeaderState(exits=(Exit(ARGUMENTS, ""), Exit("{", "", keeps=True)), read=_read, limit=320),
            "list": JsonCallsState(to="behind list", separators=","),
            "behind list": behind(Exit("]", CONTENT, at_start=True), opens),
            "arguments": ArgumentsState(to="behind"),
            "behind": behind(opens),
        },
        content_exits=(opens, *stray(ID, ARGUMENTS)),
        new_id=new_id,
        call_syntax=CallSyntax(before=CALLS, between=ARGUMENTS),
    )


def new_id() -> str:
    """Nine letters and digits, the only ids that the templates take."""
    return "".join(random.SystemRandom().choices(string.ascii_letters + string.digits, k=9))


def _read(text: str) -> Turn:
    if text.strip() in {"", "["}:
        return Turn("list")
    found = _HEADER.fullmatch(text)
    return Turn("arguments", CallName(found[1], id=found[2] or "")) if found else Turn(CONTENT)
