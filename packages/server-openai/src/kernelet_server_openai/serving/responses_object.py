"""The object ``response``, from a request and what the engine made of it."""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass, field
from typing import Any

from kernelet.contracts.parsing import CONTENT, REASONING
from kernelet.request.message import TOOL_CALL, ParsedMessage
from kernelet.request.outputs import CompletionOutput, RequestOutput
from kernelet_server_openai.protocol.errors import ApiError
from kernelet_server_openai.protocol.responses import ResponsesRequest
from kernelet_server_openai.protocol.tools import ToolUse
from kernelet_server_openai.serving.finish import stopped
from kernelet_server_openai.serving.handover import handed_over
from kernelet_server_openai.serving.logprobs import chat_logprobs
from kernelet_server_openai.serving.responses_items import (
    PREFIXES,
    Piece,
    item,
    message_of,
    pieces_of,
    reasoning_part,
    text_part,
)
from kernelet_server_openai.serving.usage import num_reasoning_tokens

ENDINGS = {"stop": "completed", "length": "incomplete", "abort": "cancelled", "error": "failed"}
"""Finish reason to status."""


@dataclass(frozen=True, kw_only=True)
class ResponseHead:
    """What is known before the engine is asked.

    Attributes:
        request: What was asked for.
        model: Its name as it is served.
        store: Whether the response is kept.
        use: What it says of tools.
        key: Part of the ids of its items.
    """

    request: ResponsesRequest
    model: str
    store: bool
    id: str = field(default_factory=lambda: f"resp_{uuid.uuid4().hex}")
    use: ToolUse = field(default_factory=ToolUse)
    key: str = field(default_factory=lambda: uuid.uuid4().hex)
    created: int = field(default_factory=lambda: int(time.time()))

    def object(
        self, status: str, *, output: RequestOutput | None = None, error: ApiError | None = None
    ) -> dict[str, Any]:
        """The response as it stands.

        Args:
            status: Where it stands.
            output: What the engine has made.
            error: Why it failed.
        """
        request = self.request
        ended = status not in {"queued", "in_progress"}
        return {
            "id": self.id,
            "object": "response",
            "created_at": self.created,
            "completed_at": int(time.time()) if status == "completed" else None,
            "status": status,
            "background": bool(request.background),
            "error": None if error is None else {"code": error.code or error.kind, "message": error.message},
            "incomplete_details": {"reason": "max_output_tokens"} if status == "incomplete" else None,
            "instructions": request.instructions,
            "max_output_tokens": request.max_output_tokens,
            "metadata": request.metadata or {},
            "model": self.model,
            "output": [] if output is None else self.items(output.outputs[0], status),
            "parallel_tool_calls": request.parallel_tool_calls is not False,
            "previous_response_id": request.previous_response_id,
            "reasoning": {"effort": request.effort, "summary": None},
            "service_tier": "default",
            "store": self.store,
            "temperature": 1.0 if request.temperature is None else request.temperature,
            "text": {"format": request.text_format, "verbosity": "medium"},
            "tool_choice": request.tool_choice or "auto",
            "tools": [{"parameters": None, "strict": None, **tool} for tool in request.tools or ()],
            "top_logprobs": request.top_logprobs or 0,
            "top_p": 1.0 if request.top_p is None else request.top_p,
            "truncation": "disabled",
            "usage": usage(output) if ended and output is not None else None,
            "user": request.user,
        } | ({} if output is None else structured(output) | handed_over((output,)))

    def items(self, choice: CompletionOutput, status: str) -> list[dict[str, Any]]:
        """The output items; where the response was cut, the last one was."""
        message = message_of(choice)
        pieces = self.pieces(message)
        states = ["completed"] * (len(pieces) - 1) + [item_status(status, choice)]
        return [
            self.item(place, piece, self.part(piece, message, choice), state)
            for place, (piece, state) in enumerate(zip(pieces, states, strict=True))
        ]

    def pieces(self, message: ParsedMessage) -> list[Piece]:
        """What the items are made of; there is one at least."""
        return pieces_of(message, only_first=self.use.only_first) or [Piece(kind=CONTENT)]

    def item(self, place: int, piece: Piece, part: dict[str, Any] | None, status: str) -> dict[str, Any]:
        """The output item at a place; without its part, as it begins."""
        arguments = "" if part is None or piece.call is None else piece.call.arguments
        return item(self.item_id(place, piece), piece, [] if part is None else [part], status, arguments)

    def item_id(self, place: int, piece: Piece) -> str:
        """The id of an output item."""
        return f"{PREFIXES[piece.kind]}_{self.key}{place:04x}"

    def part(self, piece: Piece, message: ParsedMessage, choice: CompletionOutput) -> dict[str, Any]:
        """The content of an output item."""
        if piece.kind == REASONING:
            return reasoning_part(piece.text(message))
        return text_part(piece.text(message), self.logprobs(choice, piece.tokens))

    def logprobs(self, choice: CompletionOutput, tokens: range) -> list[dict[str, Any]]:
        """Of some tokens of the answer, if they were asked for."""
        count = self.request.num_logprobs
        if count is None or not choice.logprobs:
            return []
        found: list[dict[str, Any]] = chat_logprobs(choice.logprobs[tokens.start : tokens.stop], count)["content"]
        return found


def structured(output: RequestOutput) -> dict[str, Any]:
    """What became of the form that the answer was held to, where there was one."""
    found = output.outputs[0].structured
    return {} if found is None else {"structured": found}


def item_status(status: str, choice: CompletionOutput) -> str:
    """How the last item of a response stands. A call in which a stop string cut the answer cannot be made."""
    runs = message_of(choice).runs
    if status == "completed" and stopped(choice) and runs and runs[-1].kind == TOOL_CALL:
        return "incomplete"
    return {"completed": "completed", "in_progress": "in_progress"}.get(status, "incomplete")


def status_of(output: RequestOutput) -> str:
    """How a response ended."""
    return ENDINGS.get(output.outputs[0].finish_reason or "", "failed")


def usage(output: RequestOutput) -> dict[str, Any]:
    """Tokens in and out."""
    given, made = len(output.prompt_token_ids), len(output.outputs[0].token_ids)
    return {
        "input_tokens": given,
        # nothing is written to the cache on a client's word: the prefix cache keeps what it computes
        "input_tokens_details": {"cached_tokens": output.num_cached_tokens, "cache_write_tokens": 0},
        "output_tokens": made,
        "output_tokens_details": {"reasoning_tokens": num_reasoning_tokens(output)},
        "total_tokens": given + made,
    }
