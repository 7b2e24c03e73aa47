"""Grammar engines without a model: constraints become rules in this process, and texts are sampled under masks."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import numpy as np
from way_out import WayOut

from kernelet.contracts.structured import GrammarEngineOffer, GrammarRules, TokenVocabulary
from kernelet.structured.rules import fits
from kernelet.structured.select import in_order
from kernelet.testing.grammar_engine.reference import byte_vocabulary
from kernelet.testing.offered import find_offer

NAMES = ("xgrammar", "guidance", "outlines", "lmfe")
VOCABULARY = byte_vocabulary()
LIMIT = 2000
"""Tokens of a text that is sampled; a text that is not at its end then is a failure."""
LONG = 250
"""Tokens after which a text takes its way out."""


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


def decoded(text: bytes) -> str | None:
    """The text; None: it ends inside a character."""
    try:
        return text.decode()
    except UnicodeDecodeError:
        return None


def sample(grammar, random: Random, way_out: WayOut, vocabulary=VOCABULARY, hint: str = "") -> str | None:
    """A text by random logits under the masks; None: it did not end.

    What closes, and what the hint has, gets likelier with its length, and each token less likely with each time that it
    came: where a string must hold some letters before it may end, it does. What chance hardly ever finds, as the end of
    ``.*[0-9]{3}``, a long text takes from its way out, in single bytes.
    """
    closing = [1.0 if token[:1] in b'"}])' and token else 0.0 for token in vocabulary.token_bytes]
    bias = np.array(closing) - np.array([0.25 * (token[:1] >= b"\x80") for token in vocabulary.token_bytes])
    hinted = Hint(hint, vocabulary)
    noise = np.random.default_rng(random.getrandbits(32))
    row = np.zeros(vocabulary.num_words, np.int32)
    times = np.zeros(len(closing))
    text = b""
    for length in range(LIMIT):
        if length >= LONG and (whole := decoded(text)) is not None:
            rest = way_out.after(whole).encode()
            assert grammar.accept([vocabulary.token_bytes.index(bytes([byte])) for byte in rest])
            assert grammar.can_end()
            return whole + rest.decode()
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
