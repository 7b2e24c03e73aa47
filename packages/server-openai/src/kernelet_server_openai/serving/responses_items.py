"""A choice as the output items of a response, in the order in which the model wrote them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from kernelet.contracts.parsing import CONTENT, REASONING
from kernelet.request.message import TOOL_CALL, ParsedMessage, Run, ToolCall
from kernelet.request.outputs import CompletionOutput

PREFIXES: Final = {REASONING: "rs", CONTENT: "msg", TOOL_CALL: "fc"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Piece:
    """What one item is made of.

    Attributes:
        kind: ``REASONING``, ``CONTENT`` or ``TOOL_CALL``.
        start: Where its text begins in all text of that kind.
        length: Of its text; of a call its arguments.
        tokens: The choice's tokens that it was read from.
        call: Of a call.
    """

    kind: str
    start: int = 0
    length: int = 0
    tokens: range = range(0)
    call: ToolCall | None = None

    def text(self, message: ParsedMessage, told: int = 0) -> str:
        """Its text in the message, without the characters that were told."""
        source = message.content if self.kind == CONTENT else message.reasoning
        if self.call is not None:
            source = self.call.arguments
        return source[self.start + told : self.start + self.length]


def message_of(choice: CompletionOutput) -> ParsedMessage:
    """What a choice says; where nothing parses it, it is content."""
    if choice.message is not None:
        return choice.message
    run = Run(kind=CONTENT, length=len(choice.text), tokens=range(len(choice.token_ids)))
    return ParsedMessage(content=choice.text, runs=[run])


def pieces_of(message: ParsedMessage, *, only_first: bool = False) -> list[Piece]:
    """The items of a message.

    Args:
        message: What the model said.
        only_first: Further calls are left out.
    """
    starts, calls, found = {CONTENT: 0, REASONING: 0}, 0, []
    for run in message.runs:
        if run.kind == TOOL_CALL:
            call, calls = message.tool_calls[calls], calls + 1
            if calls == 1 or not only_first:
                found.append(Piece(kind=TOOL_CALL, length=len(call.arguments), call=call))
            continue
        found.append(Piece(kind=run.kind, start=starts[run.kind], length=run.length, tokens=run.tokens))
        starts[run.kind] += run.length
    return found


def text_part(text: str, logprobs: list[dict[str, Any]]) -> dict[str, Any]:
    """The content of a message."""
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": logprobs}


def reasoning_part(text: str) -> dict[str, Any]:
    """The content of reasoning."""
    return {"type": "reasoning_text", "text": text}


def item(name: str, piece: Piece, content: list[dict[str, Any]], status: str, arguments: str = "") -> dict[str, Any]:
    """An item.

    Args:
        name: Its id.
        piece: What it is made of.
        content: Its parts; a call has none.
        status: "in_progress", "completed" or "incomplete".
        arguments: Of a call.
    """
    if piece.call is not None:
        call = piece.call
        function = {"call_id": call.id, "name": call.name, "arguments": arguments}
        return {"id": name, "type": "function_call", "status": status, **function}
    if piece.kind == REASONING:
        fields = {"summary": [], "content": content, "encrypted_content": None}
        return {"id": name, "type": "reasoning", "status": status, **fields}
    return {"id": name, "type": "message", "role": "assistant", "status": status, "content": content}
