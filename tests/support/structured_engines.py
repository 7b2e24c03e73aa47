"""Grammar engines without a model: constraints become rules in this process, and texts are sampled under masks."""

from __future__ import annotations

import string
from dataclasses import dataclass
from random import Random

import numpy as np

from kernelet.contracts.structured import GrammarEngineOffer, GrammarRules, TokenVocabulary
from kernelet.structured.rules import fits
from kernelet.structured.select import in_order
from kernelet.testing.grammar_engine.reference import byte_vocabulary
from kernelet.testing.offered import find_offer

NAMES = ("xgrammar", "guidance", "outlines", "lmfe")
VOCABULARY = byte_vocabulary()
LIMIT = 2000
"""Tokens of a text that is sampled; a text that is not at its end then is a failure."""
CLOSING_EVERY = 200
"""Tokens after which a way out is looked for."""
DEEPEST = 3
"""Tokens of the longest one."""


@dataclass(frozen=True)
class Served:
    """An engine, its offer, and the vocabulary that it was made for."""

    name: str
    offer: GrammarEngineOffer
    engine: object
    vocabulary: TokenVocabulary

    def takes(self, rules: GrammarRules) -> bool:
        return fits(self.offer, rules) is None

    def start(self, rules: GrammarRules):
        """Where texts begin that the rules derive."""
        return self.engine.load(self.engine.compile(rules)).start()


def serve(name: str, vocabulary=VOCABULARY) -> Served:
    """An engine by its name."""
    offered = find_offer(f"kernelet_structured_{name}.plugin", GrammarEngineOffer)
    return Served(name, offered.offer, offered.target(offered.settings, vocabulary), vocabulary)


def automatic(served: list[Served], rules: GrammarRules) -> Served | None:
    """Whom ``auto`` chooses."""
    by_name = {one.name: one for one in served}
    fitting = [one.offer for one in served if one.takes(rules)]
    return by_name[in_order(fitting)[0].name] if fitting else None


def accepts(start, text: str) -> bool:
    """Whether a text is accepted to its end, byte by byte, from ``start``, which stays where it is."""
    grammar = start.fork()
    return grammar.accept(list(text.encode("utf-8", "surrogatepass"))) and grammar.can_end()


class Hint:
    """What of a vocabulary is in a text, and what follows there."""

    def __init__(self, text: str, vocabulary: TokenVocabulary) -> None:
        self._text = text.encode("utf-8", "surrogatepass")
        self._tokens = vocabulary.token_bytes
        self._after: dict[bytes, np.ndarray] = {}

    def after(self, before: bytes) -> np.ndarray:
        """How much likelier each token gets with each token that came: float64 [tokens]."""
        if before not in self._after:
            found = [bool(token) and 0.03 * (token in self._text) for token in self._tokens]
            follows = [bool(token) and 0.06 * (before + token in self._text) for token in self._tokens]
            self._after[before] = np.add(found, follows)
        return self._after[before]


def way_out(grammar, vocabulary: TokenVocabulary, hint: str) -> list[int]:
    """The fewest of some tokens with which the text is whole; else those that close a string; none: no such few do.

    By chance a text hardly ever meets what has to stand right before its end, as in ``.*[0-9]{3}``.
    """
    letters = set((string.digits[0] + string.ascii_letters[0] + '" ' + hint).encode()) - {ord("\\")}
    tokens = [token for token, text in enumerate(vocabulary.token_bytes) if len(text) == 1 and text[0] in letters]

    def search(depth: int, closes: bool) -> list[int] | None:
        for token in tokens:
            if not grammar.accept([token]):
                continue
            try:
                if grammar.can_end() or (closes and vocabulary.token_bytes[token] == b'"'):
                    return [token]
                rest = search(depth - 1, closes) if depth > 1 else None
                if rest is not None:
                    return [token, *rest]
            finally:
                grammar.rollback(1)
        return None

    for closes in (False, True):
        for depth in range(1, DEEPEST + 1):
            found = search(depth, closes)
            if found is not None:
                return found
    return []


def sample(grammar, random: Random, limit: int = LIMIT, vocabulary=VOCABULARY, hint: str = "") -> str | None:
    """A text by random logits under the masks; None: it did not end.

    What closes, and what the hint has, gets likelier with its length, and each token less likely with each time that it
    came: where a string must hold some letters before it may end, it does. Now and then a long one takes the way out.
    """
    closing = [1.0 if token[:1] in b'"}])' and token else 0.0 for token in vocabulary.token_bytes]
    bias = np.array(closing) - np.array([0.25 * (token[:1] >= b"\x80") for token in vocabulary.token_bytes])
    hinted = Hint(hint, vocabulary)
    noise = np.random.default_rng(random.getrandbits(32))
    row = np.zeros(vocabulary.num_words, np.int32)
    times = np.zeros(len(closing))
    text = b""
    for length in range(limit):
        if length and length % CLOSING_EVERY == 0:
            for token in way_out(grammar, vocabulary, hint):
                assert grammar.accept([token])
                text += vocabulary.token_bytes[token]
        grammar.fill_mask(row)
        allowed = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little"))
        if grammar.can_end() and (grammar.must_end() or random.random() < 0.2 + length / 40):
            return text.decode()
        assert allowed.size, f"nothing fits after {text!r}"
        scores = noise.gumbel(size=allowed.size) + bias[allowed] * min(8.0, length / 4)
        scores += hinted.after(text[-1:])[allowed] * length - times[allowed]
        token = int(allowed[np.argmax(scores)])
        assert grammar.accept([token]), (
            f"after {text!r} the mask allows {vocabulary.token_bytes[token]!r}, accept() not"
        )
        times[token] += 0.5
        text += vocabulary.token_bytes[token]
    return None
