"""What a model thinks before it answers, token by token: the table of a reasoning parser, run where tokens are chosen.

Text that must be of a form is read by a table of its own, here and where the answer is parsed: once content has begun,
nothing in it is a marker.
"""

from __future__ import annotations

import codecs
import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from kernelet.contracts.parsing import (
    CONTENT,
    REASONING,
    WHITESPACE,
    ParserTable,
    TextState,
    exits_of,
)
from kernelet.text.detokenizer import Span
from kernelet.text.parsing.draft import Draft
from kernelet.text.parsing.machine import OutputParser
from kernelet.text.parsing.table import CompiledTable

if TYPE_CHECKING:
    from kernelet.request.message import ParsedMessage

_EVERY: Final = 128
"""Tokens between two copies of the machine, from which those that are left are read again."""


def held_content(table: ParserTable, prompt: str = "") -> ParserTable:
    """A reasoning parser's table for answers whose content is held to a form.

    Content ends only at its begin, where a marker opens reasoning; once reasoning has ended, in the answer or at the
    end of the prompt, no marker opens it again. All else in it is as the model writes it.

    Args:
        table: As the parser has it.
        prompt: The rendered prompt, or its end.

    Raises:
        ValueError: reasoning ends with a text that belongs to content.
    """
    states = {CONTENT: TextState(exits=table.content_exits), **table.states}
    texts = {name: state for name, state in states.items() if isinstance(state, TextState)}
    writes = {name: state for name, state in texts.items() if state.into == CONTENT}
    thoughts = {name: state for name, state in texts.items() if state.into == REASONING}
    for name in states.keys() - writes.keys():
        for exit_ in exits_of(states[name]):
            if exit_.keeps and exit_.to in writes:
                raise ValueError(f"reasoning ends with {exit_.parts[-1]!r}, which is the begin of content")
    for name, state in thoughts.items():
        exits = (replace(one, to=_behind(one.to)) if one.to in writes else one for one in state.exits)
        states[name] = replace(state, exits=tuple(exits))
    for name, state in writes.items():
        begun = tuple(replace(one, at_start=True) for one in state.exits if one.to not in writes)
        ended = tuple(one for one in begun if one.to not in thoughts)
        states |= {name: replace(state, exits=begun), _behind(name): replace(state, exits=ended)}
    ends = tuple(exit_.parts[-1] for state in thoughts.values() for exit_ in state.exits if exit_.to in writes)
    ended_before = table.start in writes and prompt.rstrip(WHITESPACE).endswith(ends)
    return replace(
        table,
        content_exits=exits_of(states.pop(CONTENT)),
        states=states,
        start=_behind(table.start) if ended_before else table.start,
        whole="",
    )


def _behind(name: str) -> str:
    """The state that stands for one of content where a thought has ended."""
    return f"{name} behind a thought"


class Unwritten(Draft):
    """A draft of which nobody wants the message."""

    def write(self, into: str, text: str) -> None:
        """Nothing is kept."""

    def arguments(self, text: str) -> None:
        """Nothing is kept."""

    def expect(self, text: str) -> None:
        """Nothing is kept."""

    def count(self, kind: str, num_tokens: int) -> None:
        """Nothing is kept."""

    @property
    def message(self) -> ParsedMessage:
        """Empty."""
        return self._message


class Copy(NamedTuple):
    """The machine behind so many tokens."""

    num_tokens: int
    parser: OutputParser
    decoder: codecs.IncrementalDecoder


class Thought:
    """One answer, as far as nothing of its content has come.

    Args:
        table: Of ``held_content``.
        tokens: Markers that are one token, with their ids.
        token_bytes: The bytes of each token; empty: it has no text.
    """

    def __init__(self, table: CompiledTable, tokens: Mapping[str, int], token_bytes: Sequence[bytes]) -> None:
        self._table = table
        self._markers = {index: text for text, index in tokens.items() if text in table.tokens}
        self._token_bytes = token_bytes
        self._parser = OutputParser(table, draft=Unwritten())
        self._decoder: codecs.IncrementalDecoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._copies: list[Copy] = []
        self._read: list[int] = []  # since the first copy
        self._keep(0)

    @property
    def thinks(self) -> bool:
        """Whether what comes is no content."""
        return self._table.writes(self._parser.state) != CONTENT

    @property
    def dropped(self) -> str:
        """Characters that are dropped if they come now."""
        return self._parser.dropped

    @property
    def endings(self) -> tuple[str, ...]:
        """Markers that end what it reads now; of several texts, the last one."""
        return tuple(exit_.parts[-1] for exit_ in self._table.exits(self._parser.state))

    @property
    def openings(self) -> tuple[str, ...]:
        """Markers that end what it reads now, as they are written shortest."""
        return tuple("".join(exit_.parts) for exit_ in self._table.exits(self._parser.state))

    def push(self, token_id: int) -> None:
        """Takes a token."""
        self._read.append(token_id)
        self._take(token_id)
        count = self._copies[0].num_tokens + len(self._read)
        if count % _EVERY == 0:
            self._keep(count)

    def rollback(self, num_tokens: int) -> None:
        """Takes tokens back; at most 128."""
        first = self._copies[0].num_tokens
        kept = first + len(self._read) - num_tokens
        while self._copies[-1].num_tokens > kept:
            self._copies.pop()
        last = self._copies[-1]
        self._parser, self._decoder = last.parser.fork(), copy.copy(last.decoder)
        del self._read[kept - first :]
        for token_id in self._read[last.num_tokens - first :]:
            self._take(token_id)

    def fork(self) -> Thought:
        """Another one that stands where this one does."""
        shared = (self._table, self._markers, self._token_bytes)
        known: dict[int, object] = {id(one): one for one in (*shared, *self._copies)}
        return copy.deepcopy(self, known)

    def _keep(self, count: int) -> None:
        """The last two copies are enough to take back as much as may be."""
        kept = self._copies[-1:]
        if kept:
            del self._read[: kept[0].num_tokens - self._copies[0].num_tokens]
        self._copies = [*kept, Copy(count, self._parser.fork(), copy.copy(self._decoder))]

    def _take(self, token_id: int) -> None:
        marker = self._markers.get(token_id)
        if marker is not None:
            rest = self._decoder.decode(b"", final=True)
            self._parser.push([Span(rest, ()), Span(marker, (token_id,), special=True)])
            return
        known = 0 <= token_id < len(self._token_bytes)
        text = self._decoder.decode(self._token_bytes[token_id] if known else b"")
        self._parser.push([Span(text, (token_id,))])
