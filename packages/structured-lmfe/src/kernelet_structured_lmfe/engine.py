"""The engine: builds graphs, loads what was built."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

import msgspec

from kernelet.contracts.offer import Settings
from kernelet.contracts.structured import CompiledGrammar, GrammarEngine, GrammarRules, TokenVocabulary
from kernelet_structured_lmfe.graph import Graph, graph_of

if TYPE_CHECKING:
    from kernelet_structured_lmfe.tokens import Tokens


class LmfeEngine(GrammarEngine):
    """One vocabulary's engine. Where it only compiles, the library, which imports torch, is not needed."""

    def __init__(self, settings: Settings, vocabulary: TokenVocabulary) -> None:
        super().__init__(settings, vocabulary)
        self._lock = Lock()
        self._tokens: Tokens | None = None

    def compile(self, rules: GrammarRules) -> bytes:
        return msgspec.msgpack.encode(graph_of(rules))

    def load(self, compiled: bytes) -> CompiledGrammar:
        from kernelet_structured_lmfe.compiled import LmfeCompiled
        from kernelet_structured_lmfe.tokens import Tokens

        with self._lock:
            self._tokens = self._tokens or Tokens(self.vocabulary)
        graph = msgspec.msgpack.decode(compiled, type=Graph)
        return LmfeCompiled(graph, self._tokens, len(compiled))
