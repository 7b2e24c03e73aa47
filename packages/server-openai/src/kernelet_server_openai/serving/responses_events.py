"""The events of a streamed response, in the order in which OpenAI's API sends them."""

from __future__ import annotations

from typing import Any

from kernelet.request.outputs import RequestOutput
from kernelet_server_openai.protocol.errors import ApiError
from kernelet_server_openai.serving.cursor import Cursor
from kernelet_server_openai.serving.responses_object import ResponseHead, status_of
from kernelet_server_openai.serving.sending import ENCODER


class ResponseEvents:
    """Writes events and numbers them.

    Args:
        head: The response.
    """

    def __init__(self, head: ResponseHead) -> None:
        self._head = head
        self._cursor = Cursor()
        self._number = 0
        self._place = {"item_id": head.message_id, "output_index": 0, "content_index": 0}

    def begin(self) -> bytes:
        """What comes before the first text."""
        head = self._head
        started = head.object("in_progress")
        return b"".join(
            (
                self._event("response.created", response=started),
                self._event("response.in_progress", response=started),
                self._event("response.output_item.added", output_index=0, item=head.empty_message()),
                self._event("response.content_part.added", **self._place, part=head.part(None)),
            )
        )

    def write(self, output: RequestOutput) -> bytes:
        """What an output adds; empty: nothing that a client could see."""
        delta = self._cursor.advance(output.outputs[0])
        logprobs = self._head.logprobs(delta.logprobs)
        if not delta.text and not logprobs:
            return b""
        return self._event("response.output_text.delta", **self._place, delta=delta.text, logprobs=logprobs)

    def end(self, output: RequestOutput) -> tuple[bytes, dict[str, Any]]:
        """What comes after the last text, and the response."""
        head, choice, status = self._head, output.outputs[0], status_of(output)
        part = head.part(choice)
        done = head.object(status, output=output)
        name = status if status in {"completed", "incomplete"} else "failed"
        text = {"text": part["text"], "logprobs": part["logprobs"]}
        events = (
            self._event("response.output_text.done", **self._place, **text),
            self._event("response.content_part.done", **self._place, part=part),
            self._event("response.output_item.done", output_index=0, item=head.message(choice, status)),
            self._event(f"response.{name}", response=done),
        )
        return b"".join(events), done

    def fail(self, error: ApiError, output: RequestOutput | None) -> tuple[bytes, dict[str, Any]]:
        """What comes instead where the engine failed, and the response."""
        failed = self._head.object("failed", output=output, error=error)
        return self._event("response.failed", response=failed), failed

    def _event(self, kind: str, **fields: Any) -> bytes:
        content = {"type": kind, "sequence_number": self._number, **fields}
        self._number += 1
        return b"event: " + kind.encode() + b"\ndata: " + ENCODER.encode(content) + b"\n\n"
