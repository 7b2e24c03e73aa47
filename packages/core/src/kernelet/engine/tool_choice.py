"""What ``tools`` and ``tool_choice`` ask of an answer: which calls it may hold, and whether it must."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from kernelet.contracts.parsing import REASONING, ParserTable
from kernelet.contracts.sampling import StructuredOutputsParams
from kernelet.errors import ParameterError
from kernelet.request.tool_choice import FIELD, Choice
from kernelet.structured.refusal import InvalidConstraintError
from kernelet.structured.tags.calls import ToolCalls, tool_calls

Tools = Sequence[Mapping[str, Any]]


def held_calls(
    choice: Choice,
    functions: Sequence[Mapping[str, Any]],
    calls: ParserTable | None,
    thinks: ParserTable | None,
    *,
    parallel: bool = True,
) -> ToolCalls | None:
    """The calls that answers are held to; None: the model is free.

    Args:
        choice: Of the request.
        functions: Of the request; one that is ``strict`` is called as its parameters say.
        calls: Table of the tool parser.
        thinks: Table of the reasoning parser.
        parallel: More than one call may come.

    Raises:
        ParameterError: nothing can hold the answers of this model to calls.
    """
    strict = any(one.get("strict") for one in functions)
    if choice.kind == "none" or (choice.kind == "auto" and not strict):
        return None
    field = "tools" if choice.kind == "auto" else FIELD
    if calls is None:
        raise ParameterError(field, "no tool parser runs, which knows how the model writes calls: name one")
    asked = choice.name if choice.kind == "named" else choice.kind
    try:
        return tool_calls(calls, functions, asked, parallel=parallel, excludes=_openings(thinks))
    except InvalidConstraintError as error:
        raise ParameterError(field, str(error)) from error


def offered_calls(
    choice: Choice, functions: Sequence[Mapping[str, Any]], calls: ParserTable | None, *, parallel: bool = True
) -> ToolCalls | None:
    """The calls that may come in place of a text of a form; None: none may, or nothing tells them from it."""
    if choice.kind != "auto" or not functions or calls is None or calls.call_syntax is None:
        return None
    offered = tool_calls(calls, functions, parallel=parallel)
    return None if offered.bare else offered


def calls_or_text(calls: ToolCalls | None, asked: object) -> ToolCalls | None:
    """Calls, or else a text as ``structured_outputs`` says; None: they do not go together.

    Args:
        calls: Of the request's tools.
        asked: JSON without further options, as OpenAI's ``response_format`` has it.
    """
    if calls is None or calls.choice != "auto" or not isinstance(asked, StructuredOutputsParams):
        return None
    schema = {"type": "object"} if asked.json_object else asked.json
    if not isinstance(schema, dict | bool) or asked not in (
        StructuredOutputsParams(json=asked.json),
        StructuredOutputsParams(json_object=True),
    ):
        return None
    return msgspec.structs.replace(calls, holds_text=True, schema=schema, excludes=())


def _openings(thinks: ParserTable | None) -> tuple[str, ...]:
    """Markers that would open reasoning in the middle of text."""
    exits = () if thinks is None else thinks.content_exits
    return tuple(dict.fromkeys(exit_.parts[0] for exit_ in exits if exit_.to == REASONING))


def without_strict(tools: Tools | None) -> list[dict[str, Any]] | None:
    """Tools as a chat template sees them: ``strict`` is a promise to the client, not to the model."""
    return None if tools is None else [_shown_tool(tool) for tool in tools]


def _shown_tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    shown_tool = {name: value for name, value in tool.items() if name != "strict"}
    inner = tool.get("function")
    if isinstance(inner, Mapping):
        shown_tool["function"] = {name: value for name, value in inner.items() if name != "strict"}
    return shown_tool
