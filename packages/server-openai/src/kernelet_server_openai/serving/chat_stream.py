"""Answers to chats, piece by piece."""

from __future__ import annotations

from typing import Any

from kernelet.request.outputs import CompletionOutput, RequestOutput
from kernelet_server_openai.protocol.chat import ChatCompletionRequest
from kernelet_server_openai.serving.api import Heading
from kernelet_server_openai.serving.chat_message import MessageCursor
from kernelet_server_openai.serving.cursor import Cursor, Delta
from kernelet_server_openai.serving.finish import ending, finish_reason
from kernelet_server_openai.serving.handover import told_handover
from kernelet_server_openai.serving.logprobs import chat_logprobs, prompt_logprobs
from kernelet_server_openai.serving.sending import ENCODER, event
from kernelet_server_openai.serving.usage import count_usage


class ChatChunks:
    """Writes chunks. What is the same in all of them is encoded once.

    Args:
        heading: Of the answer.
        request: What was asked for.
        before: Text that every answer begins with.
    """

    def __init__(self, heading: Heading, request: ChatCompletionRequest, before: str) -> None:
        self._request = request
        self._before = before
        self._fields = heading.fields("chat.completion.chunk")
        self._head = b"data: " + ENCODER.encode(self._fields)[:-1] + b',"choices":['
        self._tail = b',"usage":null}\n\n' if request.includes_usage else b"}\n\n"
        self._cursors = [Cursor() for _ in range(request.n or 1)]
        self._messages = [MessageCursor(request, before) for _ in self._cursors]
        self._output: RequestOutput | None = None
        self._num_logprobs = request.num_logprobs
        # nothing but text and its end is in such a chunk
        self._plain = self._num_logprobs is None and not request.return_token_ids

    @property
    def usage(self) -> dict[str, Any]:
        return count_usage(() if self._output is None else (self._output,))

    def begin(self) -> bytes:
        """The role of each answer."""
        output, request = self._output, self._request
        assert output is not None
        parts = []
        for index, made in enumerate(output.outputs):
            # null, as long as there may be calls instead
            nothing = None if made.message is not None and request.tools else ""
            first = {"role": "assistant", "content": self._before or nothing}
            choice = {"index": index, "delta": first, "logprobs": None, "finish_reason": None}
            content: dict[str, Any] = {**self._fields, "choices": [choice]}
            if index == 0 and output.prompt_logprobs is not None:
                content["prompt_logprobs"] = prompt_logprobs(output.prompt_logprobs)
            if index == 0 and request.return_token_ids:
                content["prompt_token_ids"] = output.prompt_token_ids
            if request.includes_usage:
                content["usage"] = self._usage_before() if request.continuous_usage else None
            parts.append(event(content))
        return b"".join(parts)

    def write(self, place: int, output: RequestOutput) -> bytes:
        self._output = output
        parts = []
        for cursor, message, choice in zip(self._cursors, self._messages, output.outputs, strict=True):
            delta = cursor.advance(choice)
            if choice.message is not None:
                pieces = message.advance(choice.message, finished=delta.finished)
                parts.append(self._parsed(choice, delta, pieces))
            elif delta.shows(tokens=not self._plain):
                parts.append(self._chunk(choice, delta))
        return b"".join(parts)

    def end(self) -> bytes:
        if not self._request.includes_usage:
            return b""
        return event({**self._fields, "choices": [], "usage": self.usage})

    def _chunk(self, choice: CompletionOutput, delta: Delta) -> bytes:
        head = b'%b{"index":%d,"delta":' % (self._head, choice.index)
        text = b'{"content":' + ENCODER.encode(delta.text) + b"}" if delta.text or not delta.finished else b"{}"
        if self._plain and not delta.finished:
            return b"".join((head, text, b',"logprobs":null,"finish_reason":null}]', self._usage()))
        rest: dict[str, Any] = {"logprobs": self._logprobs(delta), "finish_reason": finish_reason(choice)}
        if delta.finished:
            rest |= ending(choice)
        if self._request.return_token_ids:
            rest["token_ids"] = delta.token_ids
        return b"".join((head, text, b",", ENCODER.encode(rest)[1:], b"]", self._handover(delta), self._usage()))

    def _parsed(self, choice: CompletionOutput, delta: Delta, pieces: list[dict[str, Any]]) -> bytes:
        """A chunk for each piece of a message; the first tells the tokens, the last the end."""
        if not pieces and delta.token_ids and not self._plain:
            pieces = [{}]
        chunks, tokens = [], delta
        for number, piece in enumerate(pieces, 1):
            ends = delta.finished and number == len(pieces)
            content = {"index": choice.index, "delta": piece, "logprobs": self._logprobs(tokens)}
            content["finish_reason"] = finish_reason(choice) if ends else None
            if ends:
                content |= ending(choice)
            if self._request.return_token_ids:
                content["token_ids"] = tokens.token_ids
            told = self._handover(delta) if ends else b""
            chunks.append(self._head + ENCODER.encode(content) + b"]" + told + self._usage())
            tokens = Delta("")
        return b"".join(chunks)

    def _logprobs(self, delta: Delta) -> dict[str, Any] | None:
        if self._num_logprobs is None or not delta.logprobs:
            return None
        as_ids = self._request.return_tokens_as_token_ids
        return chat_logprobs(delta.logprobs, self._num_logprobs, as_ids=as_ids)

    def _handover(self, delta: Delta) -> bytes:
        assert self._output is not None
        return told_handover(self._output) if delta.finished else b""

    def _usage(self) -> bytes:
        if not self._request.continuous_usage:
            return self._tail
        return b',"usage":' + ENCODER.encode(self.usage) + b"}\n\n"

    def _usage_before(self) -> dict[str, Any]:
        found = {**self.usage, "completion_tokens": 0}
        if "completion_tokens_details" in found:
            found["completion_tokens_details"] = {"reasoning_tokens": 0}
        return {**found, "total_tokens": found["prompt_tokens"]}
