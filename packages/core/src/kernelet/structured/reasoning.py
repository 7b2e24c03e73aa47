"""Answers that may be thought about first: free while the model thinks, then held to a grammar.

What thinking is, the reasoning parser's own table says. Its markers end where a token ends, so that what comes next is
the grammar's first token. Between reasoning and text stand so many characters of whitespace as the parser drops.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import numpy as np

from kernelet.contracts.parsing import WHITESPACE
from kernelet.contracts.structured import MAX_ROLLBACK, Grammar
from kernelet.request.structured import Exit, FreeState, Marker, MarkerState
from kernelet.structured.stretches import FreeText, MarkerChoice
from kernelet.structured.token_index import TokenIndex, packed

if TYPE_CHECKING:
    from numpy.typing import NDArray

SPACE: Final = WHITESPACE.encode()

THINKS: Final = "thinks"
BEGINS: Final = "begins"
BLANK: Final = "blank"
HOLDS: Final = "holds"
"""The model thinks; its text begins with the next token, or it thinks again; of its text there is but whitespace,
behind which the parser would still find the begin of a thought; its text has begun."""


class Thinking(Protocol):
    """One answer as the reasoning parser reads it; see ``kernelet.text.parsing.thought``."""

    @property
    def thinks(self) -> bool:
        """Whether what comes is no content."""

    @property
    def dropped(self) -> str:
        """Characters that are dropped if they come now."""

    @property
    def endings(self) -> tuple[str, ...]:
        """Markers that end what it reads now; of several texts, the last one."""

    @property
    def openings(self) -> tuple[str, ...]:
        """Markers that end what it reads now, as they are written shortest."""

    def push(self, token_id: int) -> None:
        """Takes a token."""

    def rollback(self, num_tokens: int) -> None:
        """Takes tokens back."""

    def fork(self) -> Thinking:
        """Another one that stands where this one does."""


class Gate:
    """What answers before which is thought have in common.

    Args:
        index: Of the vocabulary.
        tokens: Markers that are one token, with their ids.
        max_whitespace: Characters between reasoning and text.
        excludes: What must not come while the model thinks.
    """

    def __init__(
        self, index: TokenIndex, tokens: Mapping[str, int], max_whitespace: int, excludes: Sequence[Marker] = ()
    ) -> None:
        self.index = index
        self.max_whitespace = max_whitespace
        self._tokens = {text: token for text, token in tokens.items() if token not in index.stop_token_ids}
        self._excludes = tuple(excludes)
        self._thoughts: dict[tuple[str, ...], FreeText] = {}
        self._openings: dict[tuple[str, ...], MarkerChoice] = {}
        self._blanks: dict[tuple[str, ...], FreeText] = {}

    def thought(self, endings: tuple[str, ...]) -> FreeText:
        """The text up to one of some markers, or any token that is one."""
        if endings not in self._thoughts:
            exits = [Exit(marker=Marker(text=text, token_id=token)) for text, token in self._tokens.items()]
            exits += [Exit(marker=marker) for marker in self._markers(endings) if marker.token_id is None]
            known = {exit_.marker for exit_ in exits}
            excludes = tuple(marker for marker in self._excludes if marker not in known)
            self._thoughts[endings] = FreeText(self.index, FreeState(exits=tuple(exits), excludes=excludes))
        return self._thoughts[endings]

    def opening(self, openings: tuple[str, ...]) -> MarkerChoice:
        """The markers with which a thought begins."""
        if openings not in self._openings:
            exits = tuple(Exit(marker=marker) for marker in self._markers(openings))
            self._openings[openings] = MarkerChoice(self.index, MarkerState(exits=exits))
        return self._openings[openings]

    def blank(self, openings: tuple[str, ...]) -> FreeText:
        """Text without the markers with which a thought begins."""
        if openings not in self._blanks:
            self._blanks[openings] = FreeText(self.index, FreeState(excludes=tuple(self._markers(openings))))
        return self._blanks[openings]

    def token_of(self, text: str) -> int | None:
        """The token that a marker is; None: it is text."""
        return self._tokens.get(text)

    def _markers(self, texts: Sequence[str]) -> list[Marker]:
        return [Marker(text=text, token_id=self._tokens.get(text)) for text in dict.fromkeys(texts)]


class GatePlace(NamedTuple):
    """Where an answer stands.

    Attributes:
        mode: ``THINKS``, ``BEGINS``, ``BLANK`` or ``HOLDS``.
        text: What of a marker there may be.
        spaces: Characters of whitespace that may still come.
        read: Tokens that the reasoning parser has.
        held: Tokens that the grammar has: of its text, or the first of those that wait.
        waiting: Tokens that may be a marker, and that the reasoning parser does not have yet.
        fits: Whether the grammar has all of those too.
    """

    mode: str
    text: bytes = b""
    spaces: int = 0
    read: int = 0
    held: int = 0
    waiting: tuple[int, ...] = ()
    fits: bool = True


class GatedGrammar(Grammar):
    """One answer.

    Args:
        gate: Shared.
        thinking: Reads the answer until its text begins.
        grammar: What its text is held to.
    """

    def __init__(self, gate: Gate, thinking: Thinking, grammar: Grammar) -> None:
        self._gate = gate
        self._thinking = thinking
        self._grammar = grammar
        self._place = GatePlace(THINKS if thinking.thinks else BEGINS)
        self._before: deque[GatePlace] = deque(maxlen=MAX_ROLLBACK)

    def accept(self, token_ids: Sequence[int]) -> bool:
        if len(token_ids) > MAX_ROLLBACK:
            trial = self.fork()
            fits = all(trial.accept((token_id,)) for token_id in token_ids)
            return fits and all(self._take(token_id) for token_id in token_ids)
        for count, token_id in enumerate(token_ids):
            if not self._take(token_id):
                self.rollback(count)
                return False
        return True

    def validate(self, token_ids: Sequence[int]) -> int:
        if len(token_ids) > MAX_ROLLBACK:
            trial = self.fork()
            return next((place for place, one in enumerate(token_ids) if not trial.accept((one,))), len(token_ids))
        count = next((place for place, one in enumerate(token_ids) if not self._take(one)), len(token_ids))
        self.rollback(count)
        return count

    def rollback(self, num_tokens: int) -> None:
        if not 0 <= num_tokens <= len(self._before):
            raise ValueError(f"{num_tokens} tokens cannot be taken back")
        if num_tokens:
            now, before = self._place, [self._before.pop() for _ in range(num_tokens)][-1]
            self._thinking.rollback(now.read - before.read)
            if now.held - before.held == num_tokens:
                self._grammar.rollback(num_tokens)
            else:  # what the grammar had before a marker was taken for one is not what it has now
                self._grammar.rollback(now.held)
                self._grammar.accept(before.waiting[: before.held])
            self._place = before

    def fork(self) -> Grammar:
        other = GatedGrammar(self._gate, self._thinking.fork(), self._grammar.fork())
        other.stand(self._place, self._before)
        return other

    def stand(self, place: GatePlace, before: Sequence[GatePlace]) -> None:
        """Is told where it stands: what it was made with stands there already."""
        self._place = place
        self._before.extend(before)

    def fill_mask(self, row: NDArray[np.int32]) -> None:
        place = self._place
        if place.mode == HOLDS:
            self._grammar.fill_mask(row)
        elif place.mode == THINKS:
            row[:] = self._gate.thought(self._thinking.endings).mask(place.text)
        elif place.mode == BLANK:
            self._grammar.fill_mask(row)
            row &= self._gate.blank(self._thinking.openings).mask(place.text)
        else:
            self._fill_begin(row)

    def can_end(self) -> bool:
        place = self._place
        return place.mode != THINKS and place.fits and self._grammar.can_end()

    def must_end(self) -> bool:
        if self._place.mode == HOLDS:
            return self._grammar.must_end()
        if self._place.mode == THINKS:
            return False
        row = np.empty(self._gate.index.num_words, np.int32)
        self.fill_mask(row)
        return not row.any()

    def forced(self) -> bytes:
        return self._grammar.forced() if self._place.mode == HOLDS else b""

    def _take(self, token_id: int) -> bool:
        place = self._place
        how: Mapping[str, Callable[[int], GatePlace | None]] = {
            THINKS: self._think,
            BEGINS: self._begin,
            BLANK: self._blank,
            HOLDS: self._hold,
        }
        after = how[place.mode](token_id)
        if after is None:
            return False
        self._before.append(place)
        self._place = after
        return True

    def _hold(self, token_id: int) -> GatePlace | None:
        place = self._place
        return GatePlace(HOLDS, read=place.read, held=place.held + 1) if self._grammar.accept((token_id,)) else None

    def _think(self, token_id: int) -> GatePlace | None:
        step = self._gate.thought(self._thinking.endings).step(self._place.text, token_id)
        return None if step is None else self._read((token_id,), step.place if step.exit is None else b"")

    def _read(self, token_ids: Sequence[int], text: bytes = b"") -> GatePlace:
        """Where the answer stands once the reasoning parser has tokens; the grammar has none."""
        for token_id in token_ids:
            self._thinking.push(token_id)
        read = self._place.read + len(token_ids)
        if self._thinking.thinks:
            return GatePlace(THINKS, text=text, read=read)
        return GatePlace(BEGINS, spaces=self._gate.max_whitespace, read=read)

    def _begin(self, token_id: int) -> GatePlace | None:
        place = self._place
        step = self._gate.opening(self._thinking.openings).step(place.text, token_id)
        if step is not None and step.exit is not None:
            self._grammar.rollback(place.held)
            return self._read((*place.waiting, token_id))
        count = self._space(place).get(token_id, 0)
        if count:
            return self._read((token_id,))._replace(spaces=place.spaces - count) if count <= place.spaces else None
        after = None
        if place.fits and self._may_begin(place, token_id):
            after = self._hold(token_id) if place.waiting else self._blank(token_id)
        if step is not None:
            held = place.held if after is None else after.held
            waiting = (*place.waiting, token_id)
            return place._replace(text=step.place, waiting=waiting, fits=after is not None, held=held)
        return after

    def _blank(self, token_id: int) -> GatePlace | None:
        text = self._place.text
        step = self._gate.blank(self._thinking.openings).step(text, token_id)
        after = None if step is None else self._hold(token_id)
        if step is None or after is None:
            return None
        seen = text + self._gate.index.token_bytes[token_id]
        return after._replace(mode=BLANK, text=step.place) if seen.lstrip(SPACE) == step.place else after

    def _space(self, place: GatePlace) -> Mapping[int, int]:
        """Tokens that the parser drops here; what begins with their characters is not text."""
        dropped = self._thinking.dropped
        return self._gate.index.of_characters(dropped) if dropped and not place.waiting else {}

    def _may_begin(self, place: GatePlace, token_id: int) -> bool:
        """Whether the parser reads a token as text: not as whitespace, and not as a marker with something behind it."""
        tokens = self._gate.index.token_bytes
        token = tokens[token_id] if 0 <= token_id < len(tokens) else b""
        if self._space(place) and token.startswith(tuple(one.encode() for one in self._thinking.dropped)):
            return False
        return not any((place.text + token).startswith(text.encode()) for text in self._texts())

    def _texts(self) -> list[str]:
        return [text for text in self._thinking.openings if self._gate.token_of(text) is None]

    def _fill_begin(self, row: NDArray[np.int32]) -> None:
        place, index = self._place, self._gate.index
        row[:] = 0
        if place.fits:
            self._grammar.fill_mask(row)
            barred = index.nothing()
            spaces = self._space(place)
            if spaces:
                for character in self._thinking.dropped:
                    barred[index.exactly(character.encode())] = True
                    barred[index.beyond(character.encode())] = True
            for text in self._texts():
                if text.encode().startswith(place.text):
                    barred[index.beyond(text.encode()[len(place.text) :])] = True
            row &= ~packed(barred)
            if not place.waiting:
                row &= self._gate.blank(self._thinking.openings).mask(b"")
        row |= self._gate.opening(self._thinking.openings).mask(place.text)
        allowed = index.nothing()
        allowed[[token for token, count in self._space(place).items() if count <= place.spaces]] = True
        row |= packed(allowed)
