"""The engine: compiles rules, loads what was compiled."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any, Final

import numpy as np
from llguidance import LLMatcher, LLParserLimits, LLTokenizer
from numpy.typing import NDArray

from kernelet.contracts.offer import Settings
from kernelet.contracts.structured import CompiledGrammar, Grammar, GrammarEngine, GrammarRules, TokenVocabulary
from kernelet_structured_guidance.answer import GuidanceAnswer
from kernelet_structured_guidance.tokens import Tokens, allowed_row
from kernelet_structured_guidance.write import lark_of

BYTES_PER_CHARACTER: Final = 64
"""Memory that a grammar takes, about: automata of lexemes grow while they are used."""

PLACE: Final = re.compile(r"^\d+\(\d+\): | \(at .*")
"""In an error of the library: where it is, in a text that only this package knows."""

LIMITS: Final[dict[str, Any]] = {
    "initial_lexer_fuel": 20_000_000,
    "step_lexer_fuel": 2_000_000,
    "step_max_items": 500_000,
    "max_items_in_row": 10_000,
    "max_lexer_states": 250_000,
    "max_grammar_size": 2_000_000,
    "verbose_errors": False,
}
"""Of work: a step takes some 0.2 s at most."""


BEGINS: Final = b'{["' + bytes(byte for byte in range(33, 127) if byte not in b'{["')
"""Bytes in the order in which a walk takes them: it goes deeper where it can."""

STEPS: Final = 32
"""Of a walk."""


class GuidanceEngine(GrammarEngine):
    """One vocabulary's engine; making it takes half a second for 49,152 tokens."""

    def __init__(self, settings: Settings, vocabulary: TokenVocabulary) -> None:
        super().__init__(settings, vocabulary)
        self._tokenizer = LLTokenizer(Tokens(vocabulary))  # type: ignore[arg-type]  # it asks for attributes only
        self._allowed = allowed_row(vocabulary)

    def compile(self, rules: GrammarRules) -> bytes:
        try:
            text = lark_of(rules)
        except KeyError as error:
            raise ValueError(f"guidance cannot compile it: there is no rule {error}") from None
        except RecursionError:
            raise ValueError("guidance cannot compile it: it is nested too deep") from None
        self._walk(self._matcher(text))
        return text.encode()

    def load(self, compiled: bytes) -> CompiledGrammar:
        return GuidanceCompiled(self._matcher(compiled.decode()), len(compiled), self._allowed, self.vocabulary)

    def _walk(self, matcher: LLMatcher) -> None:
        """Masks of a text that begins whatever can begin: some grammars compile, and reach the limits in use."""
        answer = GuidanceAnswer(matcher, self._allowed, self.vocabulary.token_bytes)
        row = np.empty_like(self._allowed)
        try:
            for _ in range(STEPS):
                answer.fill_mask(row)
                chosen = next((token for token in self._begins if row[token // 32] >> token % 32 & 1), None)
                if chosen is None or not answer.accept([chosen]):
                    return
        except RuntimeError:
            raise ValueError(f"guidance cannot compute its masks: {_said(matcher)}") from None

    @cached_property
    def _begins(self) -> list[int]:
        """Tokens in the order in which a walk takes them; only who compiles needs them."""
        texts = tuple(enumerate(self.vocabulary.token_bytes))
        known = {text: token for token, text in reversed(texts) if len(text) == 1}
        return [known[bytes([byte])] for byte in BEGINS if bytes([byte]) in known]

    def _matcher(self, text: str) -> LLMatcher:
        matcher = LLMatcher(self._tokenizer, text, log_level=0, limits=LLParserLimits(**LIMITS))
        if matcher.is_error():
            raise ValueError(f"guidance cannot compile it: {_said(matcher)}")
        return matcher


def _said(matcher: LLMatcher) -> str:
    """The library's error in a line."""
    return PLACE.sub("", matcher.get_error().splitlines()[0])


class GuidanceCompiled(CompiledGrammar):
    """A grammar where no token has been read yet."""

    def __init__(
        self, matcher: LLMatcher, num_characters: int, allowed: NDArray[np.int32], vocabulary: TokenVocabulary
    ) -> None:
        self._matcher = matcher
        self._num_characters = num_characters
        self._allowed = allowed
        self._vocabulary = vocabulary

    @property
    def num_bytes(self) -> int:
        return self._num_characters * BYTES_PER_CHARACTER

    def start(self) -> Grammar:
        return GuidanceAnswer(self._matcher.deep_copy(), self._allowed, self._vocabulary.token_bytes)
