"""A parsed message in chat's forms: whole, and as deltas."""

from __future__ import annotations

from typing import Any

from kernelet.request.message import ParsedMessage
from kernelet_server_openai.protocol.chat import ChatCompletionRequest


def reasoning_fields(text: str | None) -> dict[str, Any]:
    """Reasoning under both of the names that clients read."""
    return {"reasoning": text, "reasoning_content": text}


def chat_message(request: ChatCompletionRequest, message: ParsedMessage, before: str) -> dict[str, Any]:
    """``message`` of a choice.

    Args:
        request: What was asked for.
        message: What the model said.
        before: Text that the answer begins with.
    """
    calls = message.tool_calls[: request.max_calls]
    content = before + message.content
    found: dict[str, Any] = {"role": "assistant", "content": content or None if calls else content, "refusal": None}
    if request.include_reasoning:
        found |= reasoning_fields(message.reasoning or None)
    if calls:
        found["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in calls
        ]
    return found


class MessageCursor:
    """How far a message has been told.

    Args:
        request: What was asked for.
        before: Text that the answer begins with, and that was told.
    """

    def __init__(self, request: ChatCompletionRequest, before: str) -> None:
        self._max_calls = request.max_calls
        self._includes_reasoning = request.include_reasoning
        self._says = bool(before) or not request.tools
        self._reasoning = 0
        self._content = 0
        self._arguments: list[int] = []

    def advance(self, message: ParsedMessage, *, finished: bool) -> list[dict[str, Any]]:
        """What is new, one delta a piece: a call's id and name come alone, its arguments after them.

        Args:
            message: Everything so far.
            finished: It grows no more; the last delta says so.
        """
        deltas: list[dict[str, Any]] = []
        if self._includes_reasoning and (text := message.reasoning[self._reasoning :]):
            deltas.append(reasoning_fields(text))
        if text := message.content[self._content :]:
            deltas.append({"content": text})
            self._says = True
        self._reasoning, self._content = len(message.reasoning), len(message.content)
        for index, call in enumerate(message.tool_calls[: self._max_calls]):
            if index == len(self._arguments):
                self._arguments.append(0)
                function = {"name": call.name, "arguments": ""}
                deltas.append(
                    {"tool_calls": [{"index": index, "id": call.id, "type": "function", "function": function}]}
                )
            if text := call.arguments[self._arguments[index] :]:
                self._arguments[index] = len(call.arguments)
                deltas.append({"tool_calls": [{"index": index, "function": {"arguments": text}}]})
        if finished:
            deltas.append({} if self._says or self._arguments else {"content": ""})
        return deltas
