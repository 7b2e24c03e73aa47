"""Stretches of an answer that no engine looks at: free text up to a marker, and a choice of markers.

Both know where they stand from a few bytes: a stretch is shared by all answers, its places are values.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kernelet.structured.token_index import TokenIndex, packed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from kernelet.request.structured import Exit, FreeState, Marker, MarkerState


class Step(NamedTuple):
    """Where a token leads.

    Attributes:
        place: In the same stretch.
        exit: The marker that the token ends; the place means nothing then.
    """

    place: bytes = b""
    exit: Exit | None = None


class FreeText:
    """Any text up to the first marker. A place is the end of the text that may begin a marker.

    A marker that is text ends where a token ends: tokens in which something follows it are not allowed. So are tokens
    without text inside a marker: what a reader of the text sees of them is not known here.
    """

    def __init__(self, index: TokenIndex, state: FreeState) -> None:
        self._index = index
        self._exits = {exit_.marker.token_id: exit_ for exit_ in state.exits if exit_.marker.token_id is not None}
        self._texts = [(exit_.marker.text.encode(), exit_) for exit_ in state.exits if exit_.marker.token_id is None]
        self._barred = frozenset(one.token_id for one in state.excludes if one.token_id is not None)
        self._banned = [one.text.encode() for one in state.excludes if one.token_id is None]
        self._watched = [*(text for text, _ in self._texts), *self._banned]
        self._masks: dict[bytes, NDArray[np.int32]] = {}

    def step(self, place: bytes, token_id: int) -> Step | None:
        """Takes a token; None: it is not allowed."""
        if token_id in self._exits:
            return Step(exit=self._exits[token_id])
        known = 0 <= token_id < len(self._index.token_bytes)
        if not known or token_id in self._barred or token_id in self._index.stop_token_ids:
            return None
        token = self._index.token_bytes[token_id]
        if not token:
            return None if place else Step()
        text = place + token
        ends = [(end, -len(marker), exit_) for marker, exit_ in self._texts if (end := _end(text, marker, len(place)))]
        if any(_end(text, banned, len(place)) for banned in self._banned):
            return None
        if ends:
            end, _, exit_ = min(ends, key=lambda found: found[:2])
            return Step(exit=exit_) if end == len(text) else None
        return Step(self._open_end(text))

    def mask(self, place: bytes) -> NDArray[np.int32]:
        """The tokens that ``step`` takes. Not to be changed."""
        if place not in self._masks:
            self._masks[place] = self._make_mask(place)
        return self._masks[place]

    def _make_mask(self, place: bytes) -> NDArray[np.int32]:
        index = self._index
        allowed = index.everything()
        for text in self._watched:
            allowed[index.holding(text)] = False
            for rest in _rests(place, text):
                allowed[index.beyond(rest)] = False
        for text in self._banned:
            allowed[index.ending(text)] = False
            for rest in _rests(place, text):
                allowed[index.exactly(rest)] = False
        if place:
            allowed[index.silent] = False
        allowed[list(self._barred)] = False
        allowed[list(self._exits)] = True
        return packed(allowed)

    def _open_end(self, text: bytes) -> bytes:
        """The longest end of a text that begins a marker."""
        longest = max(map(len, self._watched), default=1) - 1
        for start in range(max(len(text) - longest, 0), len(text)):
            if any(marker.startswith(text[start:]) for marker in self._watched):
                return text[start:]
        return b""


class MarkerChoice:
    """One of some markers. A place is what there is of one that is text."""

    def __init__(self, index: TokenIndex, state: MarkerState) -> None:
        self._index = index
        self._exits = {exit_.marker.token_id: exit_ for exit_ in state.exits if exit_.marker.token_id is not None}
        self._texts = {exit_.marker.text.encode(): exit_ for exit_ in state.exits if exit_.marker.token_id is None}
        self._masks: dict[bytes, NDArray[np.int32]] = {}

    def step(self, place: bytes, token_id: int) -> Step | None:
        """Takes a token; None: it is not allowed."""
        if not place and token_id in self._exits:
            return Step(exit=self._exits[token_id])
        if not 0 <= token_id < len(self._index.token_bytes) or not self._index.token_bytes[token_id]:
            return None
        text = place + self._index.token_bytes[token_id]
        if text in self._texts:
            return Step(exit=self._texts[text])
        return Step(text) if any(marker.startswith(text) for marker in self._texts) else None

    def mask(self, place: bytes) -> NDArray[np.int32]:
        """The tokens that ``step`` takes. Not to be changed."""
        if place not in self._masks:
            allowed = self._index.nothing()
            for text in self._texts:
                if text.startswith(place):
                    for ids in self._index.within(text[len(place) :]):
                        allowed[ids] = True
            if not place:
                allowed[list(self._exits)] = True
            self._masks[place] = packed(allowed)
        return self._masks[place]

    def forced(self, place: bytes) -> bytes:
        """What must come."""
        if len(self._texts) != 1 or self._exits:
            return b""
        return next(iter(self._texts))[len(place) :]


def check_exits(exits: Sequence[Exit], num_states: int) -> None:
    """What can be said of a state's exits.

    Raises:
        ValueError: one leads nowhere, or two cannot be told apart.
    """
    for exit_ in exits:
        if exit_.next is not None and not 0 <= exit_.next < num_states:
            raise ValueError(f"an exit leads to state {exit_.next} of {num_states}")
    check_markers([exit_.marker for exit_ in exits])


def check_markers(markers: Iterable[Marker]) -> None:
    """What can be said of markers that are looked for at once.

    Raises:
        ValueError: one is empty, two are the same, or one begins another.
    """
    markers = list(markers)
    texts = [marker.text for marker in markers if marker.token_id is None]
    ids = [marker.token_id for marker in markers if marker.token_id is not None]
    if not all(texts):
        raise ValueError("a marker has neither text nor token")
    if len(set(ids)) < len(ids):
        raise ValueError("a token is two markers at once")
    for place, text in enumerate(texts):
        for other in texts[:place] + texts[place + 1 :]:
            if other.startswith(text):
                raise ValueError(f"the marker {text!r} begins {other!r}: it would always come first")


def _end(text: bytes, marker: bytes, since: int) -> int:
    """Where a marker first ends behind a place; 0: nowhere."""
    found = text.find(marker, max(since - len(marker) + 1, 0))
    return found + len(marker) if found >= 0 else 0


def _rests(place: bytes, text: bytes) -> list[bytes]:
    """What is missing of a text, for each of its beginnings that a place ends with."""
    return [text[size:] for size in range(1, len(text)) if place.endswith(text[:size])]
