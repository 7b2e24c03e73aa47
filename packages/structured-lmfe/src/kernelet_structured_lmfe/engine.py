"""The engine: builds graphs, loads what was built."""

from __future__ import annotations

from typing import Final

import msgspec

from kernelet.contracts.offer import Settings
from kernelet.contracts.structured import CompiledGrammar, Grammar, GrammarEngine, GrammarRules, TokenVocabulary
from kernelet_structured_lmfe.answer import LmfeAnswer
from kernelet_structured_lmfe.graph import Graph, graph_of
from kernelet_structured_lmfe.place import MOST_BYTES, Places
from kernelet_structured_lmfe.tokens import Tokens

OBJECT_BYTES: Final = 30
"""Bytes of objects for one of a graph that is packed, about."""


class LmfeEngine(GrammarEngine):
    """One vocabulary's engine; making it takes half a second of a usual vocabulary."""

    def __init__(self, settings: Settings, vocabulary: TokenVocabulary) -> None:
        super().__init__(settings, vocabulary)
        self._tokens = Tokens(vocabulary)

    def compile(self, rules: GrammarRules) -> bytes:
        return msgspec.msgpack.encode(graph_of(rules))

    def load(self, compiled: bytes) -> CompiledGrammar:
        graph = msgspec.msgpack.decode(compiled, type=Graph)
        return LmfeCompiled(Places(graph), self._tokens, MOST_BYTES + OBJECT_BYTES * len(compiled))


class LmfeCompiled(CompiledGrammar):
    """A graph, and the places where answers have been."""

    def __init__(self, places: Places, tokens: Tokens, num_bytes: int) -> None:
        self._places = places
        self._tokens = tokens
        self._num_bytes = num_bytes

    @property
    def num_bytes(self) -> int:
        return self._num_bytes

    def start(self) -> Grammar:
        return LmfeAnswer(self._tokens, [self._places.start])
