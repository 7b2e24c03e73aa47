"""The object ``response``, from a request and what the engine made of it."""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass, field
from typing import Any

from kernelet.request.outputs import CompletionOutput, RequestOutput
from kernelet_server_openai.protocol.errors import ApiError
from kernelet_server_openai.protocol.responses import ResponsesRequest
from kernelet_server_openai.serving.logprobs import chat_logprobs

ENDINGS = {"stop": "completed", "length": "incomplete", "abort": "cancelled", "error": "failed"}
"""Finish reason to status."""


@dataclass(frozen=True, kw_only=True)
class ResponseHead:
    """What is known before the engine is asked.

    Attributes:
        request: What was asked for.
        model: Its name as it is served.
        store: Whether the response is kept.
    """

    request: ResponsesRequest
    model: str
    store: bool
    id: str = field(default_factory=lambda: f"resp_{uuid.uuid4().hex}")
    message_id: str = field(default_factory=lambda: f"msg_{uuid.uuid4().hex}")
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
            "output": [] if output is None else [self.message(output.outputs[0], status)],
            "parallel_tool_calls": request.parallel_tool_calls is not False,
            "previous_response_id": request.previous_response_id,
            "reasoning": {"effort": None, "summary": None},
            "service_tier": "default",
            "store": self.store,
            "temperature": 1.0 if request.temperature is None else request.temperature,
            "text": {"format": {"type": "text"}, "verbosity": "medium"},
            "tool_choice": request.tool_choice or "auto",
            "tools": [],
            "top_logprobs": request.top_logprobs or 0,
            "top_p": 1.0 if request.top_p is None else request.top_p,
            "truncation": "disabled",
            "usage": usage(output) if ended and output is not None else None,
            "user": request.user,
        }

    def message(self, choice: CompletionOutput, status: str) -> dict[str, Any]:
        """The output item."""
        state = {"completed": "completed", "in_progress": "in_progress"}.get(status, "incomplete")
        return {**self.empty_message(), "status": state, "content": [self.part(choice)]}

    def empty_message(self) -> dict[str, Any]:
        """The output item before there is anything in it."""
        return {"id": self.message_id, "type": "message", "role": "assistant", "status": "in_progress", "content": []}

    def part(self, choice: CompletionOutput | None) -> dict[str, Any]:
        """The content of the output item."""
        text = "" if choice is None else choice.text
        logprobs = [] if choice is None or not choice.logprobs else self.logprobs(choice.logprobs)
        return {"type": "output_text", "text": text, "annotations": [], "logprobs": logprobs}

    def logprobs(self, positions: Any) -> list[dict[str, Any]]:
        """Of tokens of the answer, if they were asked for."""
        count = self.request.num_logprobs
        found: list[dict[str, Any]] = [] if count is None else chat_logprobs(positions, count)["content"]
        return found


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
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": given + made,
    }
