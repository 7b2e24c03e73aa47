"""An engine of the simplest kind: every token is tried, by an algorithm of a page. It enforces all of the contract."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from kernelet.contracts.structured import (
    MAX_ROLLBACK,
    ROOT,
    CompiledGrammar,
    Grammar,
    GrammarEngine,
    GrammarEngineOffer,
    GrammarRules,
    TokenVocabulary,
)
from kernelet.hookspecs import hookimpl
from kernelet.testing.grammar_engine.expressions import names_in
from kernelet.testing.grammar_engine.places import Place, TokenTree, is_whole, step
from kernelet.testing.grammar_engine.recognizer import Recognizer, is_prefix, recognizes
from kernelet.testing.grammar_engine.sample import sample_text
from kernelet.testing.grammar_engine.vocabulary import byte_vocabulary, make_vocabulary

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kernelet.contracts.offer import Settings

__all__ = [
    "ReferenceEngine",
    "ReferencePlugin",
    "byte_vocabulary",
    "is_prefix",
    "make_vocabulary",
    "plugin",
    "recognizes",
    "sample_text",
]

LONGEST_FORCED = 64
"""Characters that ``forced`` looks ahead."""


class ReferenceEngine(GrammarEngine):
    """Reads the rules themselves."""

    def __init__(self, settings: Settings, vocabulary: TokenVocabulary) -> None:
        super().__init__(settings, vocabulary)
        self._tree = TokenTree(vocabulary.token_bytes)

    def compile(self, rules: GrammarRules) -> bytes:
        names = {ROOT, *(name for expression in rules.rules.values() for name in names_in(expression))}
        missing = names - set(rules.rules)
        if missing:
            raise ValueError(f"there is no rule {', '.join(sorted(missing))}")
        return msgspec.msgpack.encode(rules)

    def load(self, compiled: bytes) -> ReferenceCompiled:
        rules = msgspec.msgpack.decode(compiled, type=GrammarRules)
        return ReferenceCompiled(Recognizer(rules), self.vocabulary, self._tree, 10 * len(compiled))


class ReferenceCompiled(CompiledGrammar):
    """A recognizer; its states are made as they are needed and shared by all answers.

    Attributes:
        answer: Class of answers.
    """

    def __init__(self, recognizer: Recognizer, vocabulary: TokenVocabulary, tree: TokenTree, num_bytes: int) -> None:
        self.recognizer = recognizer
        self.vocabulary = vocabulary
        self._tree = tree
        self._num_bytes = num_bytes
        self._fitting: dict[Place, list[int]] = {}
        self.answer = ReferenceGrammar

    @property
    def num_bytes(self) -> int:
        return self._num_bytes

    def start(self) -> ReferenceGrammar:
        return self.answer(self, [(self.recognizer.start, b"")])

    def step(self, place: Place, token_id: int) -> Place | None:
        """Where a text stands after one more token."""
        tokens = self.vocabulary.token_bytes
        if not (0 <= token_id < len(tokens) and tokens[token_id]):
            return None
        return step(self.recognizer, place, tokens[token_id])

    def fitting(self, place: Place) -> list[int]:
        """The tokens that may come next."""
        if place not in self._fitting:
            self._fitting[place] = self._tree.fitting(self.recognizer, place)
        return self._fitting[place]


class ReferenceGrammar(Grammar):
    """Every place of the answer, from its first."""

    def __init__(self, compiled: ReferenceCompiled, places: Sequence[Place]) -> None:
        self._compiled = compiled
        self._places = list(places)

    def accept(self, token_ids: Sequence[int]) -> bool:
        places = self._follow(token_ids)
        if len(places) < len(token_ids):
            return False
        self._places += places
        return True

    def validate(self, token_ids: Sequence[int]) -> int:
        return len(self._follow(token_ids))

    def rollback(self, num_tokens: int) -> None:
        if not 0 <= num_tokens <= min(MAX_ROLLBACK, len(self._places) - 1):
            raise ValueError(f"{num_tokens} tokens cannot be taken back")
        del self._places[len(self._places) - num_tokens :]

    def fork(self) -> ReferenceGrammar:
        return type(self)(self._compiled, self._places)

    def fill_mask(self, row: NDArray[np.int32]) -> None:
        bits = np.zeros(32 * len(row), np.bool_)
        bits[self.allowed()] = True
        row[:] = np.packbits(bits, bitorder="little").view("<i4")

    def can_end(self) -> bool:
        return is_whole(self.place)

    def must_end(self) -> bool:
        return not self.allowed()

    def forced(self) -> bytes:
        state, pending = self.place
        text = b""
        while len(text) < LONGEST_FORCED and (character := state.only()):
            text += character.encode()
            after = self._compiled.recognizer.step(state, character)
            assert after is not None, "what is allowed can be read"
            state = after
        return text[len(pending) :]

    def _follow(self, token_ids: Sequence[int]) -> list[Place]:
        """The places after each token, as far as tokens fit."""
        places: list[Place] = []
        place: Place | None = self.place
        for token_id in token_ids:
            place = self._compiled.step(place, token_id) if place else None
            places += [place] if place else []
        return places

    def allowed(self) -> list[int]:
        """The tokens that ``accept`` would take."""
        return self._compiled.fitting(self.place)

    @property
    def place(self) -> Place:
        """Where the answer stands."""
        return self._places[-1]


class ReferencePlugin:
    """Offers ``reference``. For ``plugins=["kernelet.testing.grammar_engine.reference:plugin"]``."""

    name = "structured-reference"

    @hookimpl
    def kernelet_grammar_engines(self) -> tuple[GrammarEngineOffer, ...]:
        target = f"{__name__}:{ReferenceEngine.__name__}"
        return (GrammarEngineOffer(name="reference", target=target, summary="Tries every token; slow."),)


plugin = ReferencePlugin()
