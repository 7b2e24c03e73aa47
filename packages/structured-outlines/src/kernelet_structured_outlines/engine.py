"""The engine: builds indices, loads what was built."""

from __future__ import annotations

from typing import Final

from outlines_core import Index, Vocabulary

from kernelet.contracts.offer import Settings
from kernelet.contracts.structured import CompiledGrammar, Grammar, GrammarEngine, GrammarRules, TokenVocabulary
from kernelet_structured_outlines.answer import OutlinesAnswer
from kernelet_structured_outlines.size import states_of
from kernelet_structured_outlines.write import regex_of

START: Final = "\U0010ffff"
"""What every regular expression begins with. The library takes ``a|ab`` for ``a``, the first alternative that matches,
unless the text's end is asked for; and makes no index of an expression that may begin with that end.
"""

MOST_STATES: Final = 6000
"""Larger ones take longer than ten seconds; for vocabularies of up to MOST_TOKENS."""

MOST_TOKENS: Final = 49152


class OutlinesEngine(GrammarEngine):
    """One vocabulary's engine; behind its tokens come one that is ``START`` and one that ends a text."""

    def __init__(self, settings: Settings, vocabulary: TokenVocabulary) -> None:
        super().__init__(settings, vocabulary)
        self._start = len(vocabulary.token_bytes)
        ids: dict[bytes, list[int]] = {START.encode(): [self._start]}
        for token_id, token in enumerate(vocabulary.token_bytes):
            if token:
                ids.setdefault(token, []).append(token_id)
        self._tokens = Vocabulary(self._start + 1, ids)

    def compile(self, rules: GrammarRules) -> bytes:
        states, most = states_of(rules), MOST_STATES * MOST_TOKENS // max(MOST_TOKENS, self._start)
        if states > most:
            raise ValueError(
                f"too large for outlines: about {states} states of at most {most}; repeats multiply what they repeat: "
                "give lengths and numbers of items smaller bounds, or none"
            )
        index = Index(rf"{START}(?:{regex_of(rules)})\z", self._tokens)
        _, (built,) = index.__reduce__()
        return bytes(built)

    def load(self, compiled: bytes) -> CompiledGrammar:
        return OutlinesCompiled(Index.from_binary(compiled), 3 * len(compiled), self._start)


class OutlinesCompiled(CompiledGrammar):
    """An index: for every state the tokens that fit, and the states they lead to."""

    def __init__(self, index: Index, num_bytes: int, num_tokens: int) -> None:
        self._index = index
        self._num_bytes = num_bytes
        self._num_tokens = num_tokens

    @property
    def num_bytes(self) -> int:
        return self._num_bytes

    def start(self) -> Grammar:
        return OutlinesAnswer(self._index, self._num_tokens)
