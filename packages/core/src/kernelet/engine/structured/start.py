"""Where an answer stands before its first token."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from kernelet.contracts.structured import CompiledGrammar, Grammar, TokenVocabulary
from kernelet.request.structured import RulesState, StructuredRequest
from kernelet.structured.segments import Program
from kernelet.structured.token_index import TokenIndex


class Starter:
    """Starts answers, of rules alone and of programs. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._index: tuple[str, TokenIndex] | None = None

    def __call__(
        self, structured: StructuredRequest, grammars: Mapping[str, CompiledGrammar], vocabulary: TokenVocabulary
    ) -> Grammar:
        """A new answer.

        Args:
            structured: What it is held to.
            grammars: By digest.
            vocabulary: Of the model.

        Raises:
            ValueError: two markers cannot be told apart.
        """
        first = structured.states[0]
        if isinstance(first, RulesState) and first.next is None:
            return grammars[first.digest].start()
        return Program(structured.states, grammars, self._indexed(vocabulary)).start()

    def _indexed(self, vocabulary: TokenVocabulary) -> TokenIndex:
        with self._lock:
            if self._index is None or self._index[0] != vocabulary.digest:
                self._index = (vocabulary.digest, TokenIndex(vocabulary))
            return self._index[1]
