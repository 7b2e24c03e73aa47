"""Input items of ``/v1/responses`` as chat messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kernelet.request.message import ParsedMessage, ToolCall
from kernelet.request.values import shown
from kernelet_server_openai.protocol.messages import arguments, call_name, check_size
from kernelet_server_openai.protocol.places import a_list, a_text, an_object, only, wrong

Messages = list[dict[str, Any]]
ROLES = ("user", "assistant", "system", "developer")
ITEM_FIELDS = frozenset({"type", "role", "content", "id", "status", "phase"})
CALL_FIELDS = frozenset({"type", "id", "status", "call_id", "name", "arguments"})
OUTPUT_FIELDS = frozenset({"type", "id", "status", "call_id", "output"})
REASONING_FIELDS = frozenset({"type", "id", "status", "content", "summary"})
TEXT_PARTS = ("input_text", "output_text", "text")
REASONING_PARTS = ("reasoning_text", "summary_text")
KINDS = "message, function_call, function_call_output, reasoning"


def input_messages(given: str | Sequence[Mapping[str, Any]]) -> Messages:
    """What the chat template gets: items of one turn of the assistant are one message.

    Raises:
        ApiError: 400, naming the item that is wrong.
    """
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    check_size(given, "input")
    messages: Messages = []
    for place, item in enumerate(given):
        add(messages, message(item, f"input[{place}]"))
    return messages


def add(messages: Messages, new: dict[str, Any]) -> None:
    """A message at the end; what an assistant says joins its turn, unless that ended with text."""
    last = messages[-1] if messages else {}
    calls = new.get("tool_calls", [])
    assistants = last.get("role") == new["role"] == "assistant"
    if not assistants or ("content" in last and "tool_calls" not in last and not calls):
        if new.keys() > {"role"}:
            messages.append(new)
        return
    for name, between in (("reasoning", "\n"), ("content", "")):
        if name in new:
            last[name] = last[name] + between + new[name] if name in last else new[name]
    if calls:
        last["tool_calls"] = [*last.get("tool_calls", ()), *calls]


def message(item: Mapping[str, Any], where: str) -> dict[str, Any]:
    """One item. Models know no developers: what they say is the system's."""
    kind, role, given = item.get("type", "message"), item.get("role"), dict(item)
    if kind == "function_call":
        only(given, CALL_FIELDS, where)
        return {"role": "assistant", "tool_calls": [call(given, where)]}
    if kind == "function_call_output":
        only(given, OUTPUT_FIELDS, where)
        answer = text(given.get("output"), f"{where}.output", TEXT_PARTS)
        return {"role": "tool", "tool_call_id": a_text(given.get("call_id"), f"{where}.call_id"), "content": answer}
    if kind == "reasoning":
        only(given, REASONING_FIELDS, where)
        thought = reasoning(given, where)
        return {"role": "assistant", "reasoning": thought} if thought else {"role": "assistant"}
    if kind != "message":
        raise wrong(f"{where}.type", f"nothing here takes {shown(kind)}: give {KINDS}")
    if role not in ROLES:
        raise wrong(f"{where}.role", f"got {str(role)[:100]!r}, expected {', '.join(ROLES)}")
    only(given, ITEM_FIELDS, where)
    said = text(given.get("content"), f"{where}.content", TEXT_PARTS)
    return {"role": "system" if role == "developer" else role, "content": said}


def call(item: Mapping[str, Any], where: str) -> dict[str, Any]:
    """A call that the assistant has made."""
    function = {
        "name": call_name(item.get("name"), f"{where}.name"),
        "arguments": arguments(item.get("arguments"), f"{where}.arguments"),
    }
    return {"id": a_text(item.get("call_id"), f"{where}.call_id"), "type": "function", "function": function}


def reasoning(item: Mapping[str, Any], where: str) -> str:
    """What the assistant thought; where that is not told, its summary."""
    for name in ("content", "summary"):
        parts = item.get(name)
        if parts is not None and (found := text(a_list(parts, f"{where}.{name}"), f"{where}.{name}", REASONING_PARTS)):
            return found
    return ""


def text(content: object, where: str, kinds: Sequence[str]) -> str:
    """The text of an item."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise wrong(where, "expected a text or a list of parts")
    return "\n".join(part(one, f"{where}[{place}]", kinds) for place, one in enumerate(content))


def part(given: object, where: str, kinds: Sequence[str]) -> str:
    """The text of a part."""
    found = an_object(given, where)
    if found.get("type") not in kinds:
        raise wrong(where, f"got {shown(found.get('type'))}, this model takes parts of type {kinds[0]!r}")
    return a_text(found.get("text"), f"{where}.text")


def answered(said: ParsedMessage, *, only_first: bool) -> dict[str, Any]:
    """An answer as a message of the next turn.

    Args:
        said: What the model said.
        only_first: Further calls were not returned.
    """
    made: dict[str, Any] = {"role": "assistant", "content": said.content}
    if said.reasoning:
        made["reasoning"] = said.reasoning
    calls = said.tool_calls[:1] if only_first else said.tool_calls
    if calls:
        made["tool_calls"] = [answered_call(one) for one in calls]
    return made


def answered_call(made: ToolCall) -> dict[str, Any]:
    """A call of the model's, as it is if the client sends it back."""
    function = {"name": made.name, "arguments": arguments(made.arguments, "arguments")}
    return {"id": made.id, "type": "function", "function": function}
