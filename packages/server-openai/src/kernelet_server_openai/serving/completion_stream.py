"""Answers to completions, piece by piece."""

from __future__ import annotations

from typing import Any

from kernelet.request.outputs import CompletionOutput, RequestOutput
from kernelet_server_openai.protocol.completions import CompletionRequest
from kernelet_server_openai.serving.api import Heading
from kernelet_server_openai.serving.cursor import Cursor, Delta
from kernelet_server_openai.serving.echo import Echo
from kernelet_server_openai.serving.finish import ending
from kernelet_server_openai.serving.handover import told_handover
from kernelet_server_openai.serving.logprobs import CompletionLogprobsWriter, prompt_logprobs
from kernelet_server_openai.serving.sending import ENCODER, event
from kernelet_server_openai.serving.usage import count_usage


class Told:
    """A choice, how far it has been told, and where its log-probabilities stand."""

    def __init__(self, writer: CompletionLogprobsWriter | None) -> None:
        self.cursor = Cursor()
        self.writer = writer
        self.begun = False


class CompletionChunks:
    """Writes chunks. What is the same in all of them is encoded once.

    Args:
        heading: Of the answer.
        request: What was asked for.
        echo: What each answer shows of its prompt.
        num_prompts: How many prompts there are.
    """

    def __init__(self, heading: Heading, request: CompletionRequest, echo: Echo, num_prompts: int) -> None:
        self._request = request
        self._echo = echo
        self._fields = heading.fields("text_completion")
        self._head = b"data: " + ENCODER.encode(self._fields)[:-1] + b',"choices":['
        self._tail = b',"usage":null}\n\n' if request.includes_usage else b"}\n\n"
        self._n = request.n or 1
        wants = request.logprobs is not None
        self._told = [Told(echo.writer() if wants else None) for _ in range(num_prompts * self._n)]
        self._outputs: dict[int, RequestOutput] = {}
        self._plain = not wants and not request.return_token_ids and request.prompt_logprobs is None

    @property
    def usage(self) -> dict[str, Any]:
        return count_usage(self._outputs.values())

    def begin(self) -> bytes:
        return b""

    def write(self, place: int, output: RequestOutput) -> bytes:
        self._outputs[place] = output
        parts = []
        for choice in output.outputs:
            told = self._told[place * self._n + choice.index]
            delta = told.cursor.advance(choice)
            opens = not told.begun and self._request.echo
            if opens or delta.shows(tokens=not self._plain):
                parts.append(self._chunk(place * self._n + choice.index, told, output, choice, delta))
                told.begun = True
        return b"".join(parts)

    def end(self) -> bytes:
        if not self._request.includes_usage:
            return b""
        return event({**self._fields, "choices": [], "usage": self.usage})

    def _chunk(self, index: int, told: Told, output: RequestOutput, choice: CompletionOutput, delta: Delta) -> bytes:
        text = delta.text if told.begun else self._echo.text(output) + delta.text
        head = b'%b{"index":%d,"text":%b,' % (self._head, index, ENCODER.encode(text))
        if self._plain and not delta.finished:
            return b"".join((head, b'"logprobs":null,"finish_reason":null}]', self._usage()))
        rest: dict[str, Any] = {"logprobs": None, "finish_reason": choice.finish_reason}
        if told.writer is not None:
            rest["logprobs"] = self._logprobs(told, told.writer, output, delta)
        if delta.finished:
            rest |= ending(choice)
        if self._request.return_token_ids:
            rest["token_ids"] = delta.token_ids
        if not told.begun and choice.index == 0 and self._request.prompt_logprobs is not None:
            rest["prompt_logprobs"] = prompt_logprobs(output.prompt_logprobs)
        if not told.begun and self._request.return_token_ids:
            rest["prompt_token_ids"] = output.prompt_token_ids
        params = told_handover(output) if delta.finished else b""
        return b"".join((head, ENCODER.encode(rest)[1:], b"]", params, self._usage()))

    def _logprobs(
        self, told: Told, writer: CompletionLogprobsWriter, output: RequestOutput, delta: Delta
    ) -> dict[str, Any]:
        before = () if told.begun else self._echo.positions(output)
        ids_before = () if told.begun else self._echo.token_ids(output)
        positions, ids = [*before, *delta.logprobs], [*ids_before, *delta.token_ids]
        found: dict[str, Any] = writer.write(positions, ids, self._echo.texts(positions, ids))
        return found

    def _usage(self) -> bytes:
        if not self._request.continuous_usage:
            return self._tail
        return b',"usage":' + ENCODER.encode(self.usage) + b"}\n\n"
