"""The engine: builds indices, loads what was built."""

from __future__ import annotations

from typing import Final

from outlines_core import Index, Vocabulary

from kernelet.contracts.offer import Settings
from kernelet.contracts.structured import CompiledGrammar, Grammar, GrammarEngine, GrammarRules, TokenVocabulary
from kernelet_structured_outlines.answer import OutlinesAnswer
from kernelet_structured_outlines.size import states_of
from kernelet_structured_outlines.write import regex_of
from kernelet_structured_outlines.written import WrittenTexts

START: Final = "\U0010ffff"
"""What every regular expression begins with. The library takes ``a|ab`` for ``a``, the first alternative that matches,
unless the text's end is asked for; and makes no index of an expression that may begin with that end.
"""

MOST_STATES: Final = 6000
"""Larger ones take longer than ten seconds; for vocabularies of up to MOST_TOKENS."""

MOST_TOKENS: Final = 49152


class OutlinesEngine(GrammarEngine):
    """One vocabulary's engine.

    Behind its tokens come others, which no mask allows: ``START``, one that ends a text, and the bytes that are no
    tokens, without which the library makes no index of what needs them.
    """

    def __init__(self, settings: Settings, vocabulary: TokenVocabulary) -> None:
        super().__init__(settings, vocabulary)
        self._num_tokens = len(vocabulary.token_bytes)
        ids: dict[bytes, list[int]] = {START.encode(): [self._num_tokens]}
        for token_id, token in enumerate(vocabulary.token_bytes):
            if token:
                ids.setdefault(token, []).append(token_id)
        self._num_ids = self._num_tokens + 2
        token_bytes = [*vocabulary.token_bytes, START.encode(), b""]
        for byte in range(256):
            if bytes((byte,)) not in ids:
                ids[bytes((byte,))] = [self._num_ids]
                token_bytes.append(bytes((byte,)))
                self._num_ids += 1
        self._token_bytes = tuple(token_bytes)
        self._byte_ids = {token: found[0] for token, found in ids.items() if len(token) == 1}
        self._tokens = Vocabulary(self._num_tokens + 1, ids)

    def compile(self, rules: GrammarRules) -> bytes:
        states, most = states_of(rules), MOST_STATES * MOST_TOKENS // max(MOST_TOKENS, self._num_tokens)
        if states > most:
            raise ValueError(
                f"too large for outlines: about {states} states of at most {most}; repeats multiply what they repeat: "
                "give lengths and numbers of items smaller bounds, or none"
            )
        index = Index(rf"{START}(?:{regex_of(rules)})\z", self._tokens)
        _, (built,) = index.__reduce__()
        return bytes(built)

    def load(self, compiled: bytes) -> CompiledGrammar:
        index = Index.from_binary(compiled)
        written = WrittenTexts(index, self._token_bytes, self._byte_ids)
        return OutlinesCompiled(index, written, 3 * len(compiled), self._num_tokens, self._num_ids)


class OutlinesCompiled(CompiledGrammar):
    """An index: for every state the tokens that fit, and the states they lead to."""

    def __init__(self, index: Index, written: WrittenTexts, num_bytes: int, num_tokens: int, num_ids: int) -> None:
        self._index = index
        self._written = written
        self._num_bytes = num_bytes
        self._num_tokens = num_tokens
        self._num_ids = num_ids

    @property
    def num_bytes(self) -> int:
        return self._num_bytes

    def start(self) -> Grammar:
        return OutlinesAnswer(self._index, self._written, self._num_tokens, self._num_ids)
