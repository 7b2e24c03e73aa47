"""An answer of an engine beside the reference's, held against it after every call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from random import Random
from typing import TYPE_CHECKING

import numpy as np

from kernelet.contracts.structured import CompiledGrammar, Grammar, GrammarEngine, GrammarRules, TokenVocabulary
from kernelet.testing.grammar_engine.places import is_forced
from kernelet.testing.grammar_engine.reference import ReferenceCompiled, ReferenceEngine, ReferenceGrammar
from kernelet.testing.verdict import ConformanceError, check

if TYPE_CHECKING:
    from numpy.typing import NDArray

GARBAGE = (0, -1, 0x55555555)
"""What a row may hold before it is filled."""

TAKES = "accept() must take the tokens that the rules allow"

SHOWN = 5
"""Tokens that a message names."""


class Engines:
    """An engine and the reference, of one vocabulary."""

    def __init__(self, engine: GrammarEngine) -> None:
        self.engine = engine
        self.truth = ReferenceEngine(engine.settings, engine.vocabulary)

    def compile(self, rules: GrammarRules) -> Compiled:
        """Rules that the engine enforces."""
        compiled = self.engine.compile(rules)
        check(isinstance(compiled, bytes), f"compile() must return bytes, not {type(compiled).__name__}")
        return self.load(compiled, rules)

    def load(self, compiled: bytes, rules: GrammarRules) -> Compiled:
        """The same, compiled by whom it may be."""
        grammar = self.engine.load(compiled)
        made = type(grammar).__name__
        check(isinstance(grammar, CompiledGrammar), f"load() must return a CompiledGrammar, not {made}")
        return Compiled(rules, grammar, self.truth.load(self.truth.compile(rules)))


class Compiled:
    """A grammar of each."""

    def __init__(self, rules: GrammarRules, grammar: CompiledGrammar, truth: ReferenceCompiled) -> None:
        self.rules = rules
        self.grammar = grammar
        self.truth = truth

    def start(self) -> Answer:
        """A new answer."""
        grammar = self.grammar.start()
        check(isinstance(grammar, Grammar), f"start() must return a Grammar, not {type(grammar).__name__}")
        return Answer(self, grammar, self.truth.start())


class Answer:
    """Two answers that must never differ.

    Attributes:
        tokens: What both have accepted.
    """

    def __init__(
        self, compiled: Compiled, grammar: Grammar, truth: ReferenceGrammar, tokens: Sequence[int] = ()
    ) -> None:
        self.compiled = compiled
        self.grammar = grammar
        self.truth = truth
        self.tokens = list(tokens)

    @property
    def allowed(self) -> tuple[int, ...]:
        """What may come next."""
        return tuple(sorted(self.truth.allowed()))

    @property
    def vocabulary(self) -> TokenVocabulary:
        """Of both."""
        return self.compiled.truth.vocabulary

    def __str__(self) -> str:
        """For messages."""
        text = b"".join(self.vocabulary.token_bytes[token] for token in self.tokens)
        return f"after {text!r} of {self.compiled.rules}"

    def text_of(self, token_ids: Sequence[int]) -> str:
        """Tokens, for messages."""
        shown = ", ".join(f"{self.vocabulary.token_bytes[token]!r}" for token in token_ids[:SHOWN])
        return shown if len(token_ids) <= SHOWN else f"{shown} and {len(token_ids) - SHOWN} more"

    # --- what both do ----------------------------------------------------------------------------

    def accept(
        self, token_ids: Sequence[int], says: str = "accept() must take the tokens that the rules allow"
    ) -> None:
        """Both go on, with tokens that fit."""
        assert self.truth.accept(token_ids), "the caller chose tokens that fit"
        check(self.grammar.accept(list(token_ids)), f"{says}: {self}, it refused {self.text_of(token_ids)}")
        self.tokens += token_ids

    def rollback(self, num_tokens: int) -> None:
        """Both go back."""
        self.truth.rollback(num_tokens)
        self.grammar.rollback(num_tokens)
        del self.tokens[len(self.tokens) - num_tokens :]

    def fork(self) -> Answer:
        """Both again."""
        fork = self.grammar.fork()
        check(isinstance(fork, Grammar), f"fork() must return a Grammar, not {type(fork).__name__}")
        return Answer(self.compiled, fork, self.truth.fork(), self.tokens)

    def follow(self, random: Random, count: int) -> list[int]:
        """Up to so many tokens that fit, one after the other."""
        ahead, found = self.truth.fork(), list[int]()
        while len(found) < count and (allowed := ahead.allowed()):
            longer = [token for token in allowed if len(self.vocabulary.token_bytes[token]) > 1]
            found.append(random.choice(longer if longer and random.random() < 0.4 else allowed))
            ahead.accept(found[-1:])
        return found

    # --- what must be the same -------------------------------------------------------------------

    def look(self, says: str = "") -> None:
        """Holds mask and ends to the truth.

        Args:
            says: The sentence where they differ; empty: it says what is wrong with a mask.
        """
        mask = self.mask()
        if says:
            check(mask == self.allowed, f"{says}: {self}, other tokens may come next")
            check(self.grammar.can_end() == self.truth.can_end(), f"{says}: {self}, can_end() is another")
        self._check_mask(mask)
        self._check_ends()

    def mask(self) -> tuple[int, ...]:
        """The tokens that a mask allows, of a row whose surroundings must stay as they are."""
        words = self.vocabulary.num_words
        rows = np.full((3, words), GARBAGE[1], np.int32)
        self.grammar.fill_mask(rows[1])
        check((rows[::2] == GARBAGE[1]).all(), f"fill_mask() must write its own row only: {self}, it changed another")
        return bits_of(rows[1])

    def _check_mask(self, mask: tuple[int, ...]) -> None:
        tokens, allowed = self.vocabulary.token_bytes, set(self.allowed)
        beyond = [token for token in mask if token >= len(tokens)]
        check(not beyond, f"bits beyond the vocabulary must be 0: {self}, bit {beyond[:1]} is set")
        silent = [token for token in mask if not tokens[token]]
        check(not silent, f"a token without bytes must never be allowed: {self}, {silent[:SHOWN]} are")
        missing = sorted(allowed - set(mask))
        if missing:
            there = {tokens[token] for token in mask}
            kind = kind_of(tokens[missing[0]], twice=tokens[missing[0]] in there)
            check(False, f"a mask must allow {kind}: {self}, {self.text_of(missing)} is missing")
        more = [token for token in mask if token not in allowed]
        check(not more, f"a mask must forbid what the rules forbid: {self}, it allows {self.text_of(more)}")

    def _check_ends(self) -> None:
        can, must = self.grammar.can_end(), self.grammar.must_end()
        expected = self.truth.can_end()
        check(can == expected, f"can_end() must be whether the text is whole: {self}, it is {can}")
        check(must == (not self.allowed), f"must_end() must be whether no token fits: {self}, it is {must}")

    def look_at_row(self) -> None:
        """Every word is written, whatever the row held."""
        rows = [np.full(self.vocabulary.num_words, garbage, np.int32) for garbage in GARBAGE]
        for row in rows:
            self.grammar.fill_mask(row)
        same = all((row == rows[0]).all() for row in rows)
        check(same, f"fill_mask() must write every word of its row: {self}, some are as they were before")

    def look_ahead(self) -> bytes:
        """Holds ``forced`` to the truth."""
        forced = self.grammar.forced()
        check(isinstance(forced, bytes), f"forced() must return bytes, not {type(forced).__name__}")
        place, recognizer = self.truth.place, self.compiled.truth.recognizer
        check(
            is_forced(recognizer, place, forced),
            f"forced() must be bytes with which every continuation begins: {self}, {forced!r} is not",
        )
        return forced


def kind_of(text: bytes, *, twice: bool) -> str:
    """What a token is that a mask misses, in the words of a message."""
    if twice:
        return "all tokens of the same bytes"
    try:
        characters = text.decode()
    except UnicodeDecodeError:
        return "tokens that are parts of characters"
    return "tokens of several characters" if len(characters) > 1 else "every character that the rules allow"


def bits_of(row: NDArray[np.int32]) -> tuple[int, ...]:
    """The bits of a row that are set."""
    bits = np.unpackbits(row.view(np.uint8), bitorder="little")
    return tuple(map(int, np.flatnonzero(bits)))


def walk(compiled: Compiled, random: Random, steps: int) -> None:
    """An answer of so many tokens, looked at before and behind each."""
    answer = compiled.start()
    answer.look()
    for _ in range(steps):
        answer.accept(answer.follow(random, 1))
        answer.look()


def outsider(answer: Answer, random: Random, allowed: set[int]) -> int:
    """A token that is not allowed; like one that is, where there is such a one."""
    tokens = answer.vocabulary.token_bytes
    begin = {tokens[token][:1] for token in allowed}
    others = [token for token in range(len(tokens)) if token not in allowed]
    return random.choice([token for token in others if tokens[token][:1] in begin] or others)


@contextmanager
def says(sentence: str) -> Iterator[None]:
    """What a difference means where it is looked for."""
    try:
        yield
    except Exception as error:
        raise ConformanceError(f"{sentence}: {error}") from error
