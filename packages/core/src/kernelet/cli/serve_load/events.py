"""The lines of a server-sent event stream, and what a chunk of an answer holds."""

from __future__ import annotations

from typing import Any

import msgspec

DONE = b"[DONE]"


class Events:
    """Cuts bytes, as they come, into the ``data`` of events.

    https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream, but for the other fields.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []

    def feed(self, received: bytes) -> list[bytes]:
        """The events that are complete now."""
        *lines, self._rest = (self._rest + received).split(b"\n")
        found = []
        for ended in lines:
            line = ended.removesuffix(b"\r")
            if line.startswith(b"data:"):
                self._data.append(line[5:].removeprefix(b" "))
            elif not line and self._data:
                found.append(b"\n".join(self._data))
                self._data.clear()
        return found


class Delta(msgspec.Struct):
    """New text of a chat's answer: one of these."""

    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    tool_calls: list[Any] | None = None


class Choice(msgspec.Struct):
    """New text of one choice."""

    text: str = ""
    delta: Delta | None = None

    @property
    def grew(self) -> bool:
        """Whether there is some."""
        delta = self.delta
        if delta is None:
            return bool(self.text)
        return bool(delta.content or delta.reasoning_content or delta.reasoning or delta.tool_calls)

    @property
    def new_text(self) -> str:
        """What it says."""
        return self.text if self.delta is None else self.delta.content or ""


class Usage(msgspec.Struct):
    """Tokens, as the server counts them."""

    prompt_tokens: int = 0
    completion_tokens: int = 0


class Chunk(msgspec.Struct):
    """One event of a streamed answer; or an error, which ends it."""

    choices: list[Choice] = []
    usage: Usage | None = None
    error: Any = None


def chunk_decoder() -> msgspec.json.Decoder[Chunk]:
    """Reads an event's data."""
    return msgspec.json.Decoder(Chunk)


class _Detail(msgspec.Struct):
    message: str = ""


class _ErrorBody(msgspec.Struct):
    error: _Detail | str = ""
    detail: Any = None


def error_message(body: bytes) -> str:
    """What an error's body says; its beginning where it has not OpenAI's form."""
    try:
        found = msgspec.json.decode(body, type=_ErrorBody)
    except msgspec.DecodeError:
        return body[:200].decode(errors="replace").strip()
    said = found.error.message if isinstance(found.error, _Detail) else found.error
    return said or (str(found.detail) if found.detail is not None else body[:200].decode(errors="replace"))
