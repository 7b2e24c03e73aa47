"""The events of a streamed response, in the order in which OpenAI's API sends them."""

from __future__ import annotations

from typing import Any

from kernelet.contracts.parsing import REASONING
from kernelet.request.message import ParsedMessage
from kernelet.request.outputs import CompletionOutput, RequestOutput
from kernelet_server_openai.protocol.errors import ApiError
from kernelet_server_openai.serving.responses_items import Piece, message_of, reasoning_part, text_part
from kernelet_server_openai.serving.responses_object import ResponseHead, item_status, status_of
from kernelet_server_openai.serving.sending import ENCODER


class ResponseEvents:
    """Writes events and numbers them. One item is open at a time: the last that the model has begun.

    Args:
        head: The response.
    """

    def __init__(self, head: ResponseHead) -> None:
        self._head = head
        self._number = 0
        self._open = -1
        self._told = 0
        self._told_tokens = 0

    def begin(self) -> bytes:
        """What comes before the first item."""
        started = self._head.object("in_progress")
        return self._event("response.created", response=started) + self._event("response.in_progress", response=started)

    def write(self, output: RequestOutput) -> bytes:
        """What an output adds; empty: nothing that a client could see."""
        choice = output.outputs[0]
        message = message_of(choice)
        if not message.runs:
            return b""
        return self._pieces(self._head.pieces(message), message, choice)

    def end(self, output: RequestOutput) -> tuple[bytes, dict[str, Any]]:
        """What comes after the last text, and the response."""
        choice, status = output.outputs[0], status_of(output)
        message = message_of(choice)
        pieces = self._head.pieces(message)
        rest = self._pieces(pieces, message, choice) + self._close(
            pieces[-1], message, choice, item_status(status, choice)
        )
        done = self._head.object(status, output=output)
        name = status if status in {"completed", "incomplete"} else "failed"
        return rest + self._event(f"response.{name}", response=done), done

    def fail(self, error: ApiError, output: RequestOutput | None) -> tuple[bytes, dict[str, Any]]:
        """What comes instead where the engine failed, and the response."""
        failed = self._head.object("failed", output=output, error=error)
        return self._event("response.failed", response=failed), failed

    def _pieces(self, pieces: list[Piece], message: ParsedMessage, choice: CompletionOutput) -> bytes:
        events = []
        for place in range(max(self._open, 0), len(pieces)):
            if place > self._open:
                if self._open >= 0:
                    events.append(self._close(pieces[self._open], message, choice, "completed"))
                events.append(self._begin(place, pieces[place]))
            events.append(self._grow(pieces[place], message, choice))
        return b"".join(events)

    def _begin(self, place: int, piece: Piece) -> bytes:
        """An item, with nothing in it."""
        self._open, self._told, self._told_tokens = place, 0, 0
        item = self._head.item(place, piece, None, "in_progress")
        added = self._event("response.output_item.added", output_index=place, item=item)
        if piece.call is not None:
            return added
        part = reasoning_part("") if piece.kind == REASONING else text_part("", [])
        return added + self._event("response.content_part.added", **self._part_of(piece), part=part)

    def _grow(self, piece: Piece, message: ParsedMessage, choice: CompletionOutput) -> bytes:
        """What the open item has gained."""
        text = piece.text(message, self._told)
        self._told = piece.length
        if piece.call is not None:
            kind, place = "response.function_call_arguments.delta", self._item_of(piece)
            return self._event(kind, **place, delta=text) if text else b""
        if piece.kind == REASONING:
            return self._event("response.reasoning_text.delta", **self._part_of(piece), delta=text) if text else b""
        new = piece.tokens[self._told_tokens :]
        self._told_tokens = len(piece.tokens)
        logprobs = self._head.logprobs(choice, new)
        if not text and not logprobs:
            return b""
        return self._event("response.output_text.delta", **self._part_of(piece), delta=text, logprobs=logprobs)

    def _close(self, piece: Piece, message: ParsedMessage, choice: CompletionOutput, status: str) -> bytes:
        """The end of the open item."""
        part = self._head.part(piece, message, choice)
        item = self._head.item(self._open, piece, part, status)
        if piece.call is not None:
            call = {"name": piece.call.name, "arguments": piece.call.arguments}
            done = self._event("response.function_call_arguments.done", **self._item_of(piece), **call)
        else:
            kind = "reasoning_text" if piece.kind == REASONING else "output_text"
            text = {name: value for name, value in part.items() if name in {"text", "logprobs"}}
            done = self._event(f"response.{kind}.done", **self._part_of(piece), **text)
            done += self._event("response.content_part.done", **self._part_of(piece), part=part)
        return done + self._event("response.output_item.done", output_index=self._open, item=item)

    def _item_of(self, piece: Piece) -> dict[str, Any]:
        """Where an event belongs."""
        return {"item_id": self._head.item_id(self._open, piece), "output_index": self._open}

    def _part_of(self, piece: Piece) -> dict[str, Any]:
        """Where an event of a part belongs."""
        return {**self._item_of(piece), "content_index": 0}

    def _event(self, kind: str, **fields: Any) -> bytes:
        content = {"type": kind, "sequence_number": self._number, **fields}
        self._number += 1
        return b"event: " + kind.encode() + b"\ndata: " + ENCODER.encode(content) + b"\n\n"
