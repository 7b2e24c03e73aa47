"""Where a text of bytes stands, as lm-format-enforcer's interface of what it enforces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lmformatenforcer import CharacterLevelParser, CharacterLevelParserConfig, LMFormatEnforcerException

from kernelet_structured_lmfe.automaton import Automaton, State
from kernelet_structured_lmfe.characters import length_of, next_bytes, span_of
from kernelet_structured_lmfe.graph import Graph

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_BYTES: Final = 16 << 20
"""What a grammar keeps of the places that answers have been at; when it is full, all are dropped."""

PLACE_BYTES: Final = 700
STEP_BYTES: Final = 110


class Place(CharacterLevelParser):  # type: ignore[misc]
    """After a state, and the bytes of a character that is not complete. To the library a byte is a character.

    It never changes but for what it remembers.

    Attributes:
        places: All of its grammar.
        state: After the last whole character.
        pending: Bytes since.
        row: The mask here, once it is known.
    """

    __slots__ = ("_after", "_allowed", "pending", "places", "row", "state")

    def __init__(self, places: Places, state: State, pending: bytes) -> None:
        self.places = places
        self.state = state
        self.pending = pending
        self.row: NDArray[np.int32] | None = None
        self._after: dict[str, Place] = {}
        self._allowed: frozenset[str] | None = None

    # --- what the library calls ------------------------------------------------------------------

    def add_character(self, new_character: str) -> Place:
        found = self._after.get(new_character)
        if found is None:
            try:
                found = self._after[new_character] = self.places.step(self, ord(new_character))
            except Exception as error:
                # Others than these the library logs, and goes on with an empty mask.
                raise LMFormatEnforcerException(f"{type(error).__name__}: {error}") from error
        return found

    def get_allowed_characters(self) -> frozenset[str]:
        allowed = self._allowed
        if allowed is None:
            allowed = self._allowed = self.places.allowed(self)
        return allowed

    def can_end(self) -> bool:
        return self.state.is_whole and not self.pending

    @property
    def config(self) -> CharacterLevelParserConfig:
        return CharacterLevelParserConfig()

    @config.setter
    def config(self, new_config: CharacterLevelParserConfig) -> None:
        """An alphabet, and how to read JSON schemas: rules say it all."""

    # --- what answers call -----------------------------------------------------------------------

    def after(self, text: str) -> Place | None:
        """Where it goes with these bytes; None: no text goes on so."""
        place = self
        for byte in text:
            if byte not in place.get_allowed_characters():
                return None
            place = place.add_character(byte)
        return place

    def forget(self) -> None:
        """Drops what follows."""
        self._after.clear()
        self.row = None


class Places:
    """All places of a grammar. They are kept as long as they are not too many.

    Safe to use from several threads: what is dropped is made again by whoever needs it.
    """

    def __init__(self, graph: Graph) -> None:
        self._automaton = Automaton(graph)
        self._places: dict[tuple[State, bytes], Place] = {}
        self._allowed: dict[tuple[frozenset[int], bytes], frozenset[str]] = {}
        self._num_bytes = 0
        self.start = self._place(self._automaton.start(), b"")

    def step(self, place: Place, byte: int) -> Place:
        """Where a place goes with a byte that is allowed there."""
        pending = place.pending + bytes((byte,))
        self.took(STEP_BYTES)
        if len(pending) < length_of(pending[0]):
            return self._place(place.state, pending)
        state = self._automaton.step(place.state, span_of(pending)[0])
        assert state is not None, "what is allowed can be read"
        return self._place(state, b"")

    def allowed(self, place: Place) -> frozenset[str]:
        """The bytes that may come next."""
        sets = frozenset(number for number, _ in place.state.reads)
        found = self._allowed.get((sets, place.pending))
        if found is None:
            characters = (self._automaton.characters[number] for number in sets)
            found = self._allowed[sets, place.pending] = next_bytes(characters, place.pending)
            self.took(STEP_BYTES * len(found))
        return found

    def took(self, num_bytes: int) -> None:
        """More is kept."""
        self._num_bytes += num_bytes
        if self._num_bytes > MOST_BYTES:
            self.forget()

    def forget(self) -> None:
        """Drops all places that nobody else holds."""
        self._num_bytes = 0
        places = list(self._places.values())
        self._places.clear()
        self._allowed.clear()
        self._automaton.forget()
        for place in places:
            place.forget()

    def _place(self, state: State, pending: bytes) -> Place:
        found = self._places.get((state, pending))
        if found is None:
            self.took(PLACE_BYTES + STEP_BYTES * len(state.reads))
            found = self._places.setdefault((state, pending), Place(self, state, pending))
        return found
