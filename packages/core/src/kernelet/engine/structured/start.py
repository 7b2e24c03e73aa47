"""Where an answer stands before its first token."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from kernelet.contracts.parsing import ReasoningParserOffer
from kernelet.contracts.plugins import PluginView
from kernelet.contracts.structured import CompiledGrammar, Grammar, TokenVocabulary
from kernelet.engine.parsing import NamedParser, find_parser
from kernelet.engine.reasoning import start_thought
from kernelet.request.structured import ReasoningGate, RulesState, StructuredRequest, is_one_text
from kernelet.structured.reasoning import Gate, GatedGrammar
from kernelet.structured.segments import Program
from kernelet.structured.token_index import TokenIndex


class Starter:
    """Starts answers, of rules alone and of programs. Safe to use from several threads.

    Args:
        plugins: Where reasoning parsers come from; None: nothing is thought before an answer.
    """

    def __init__(self, plugins: PluginView | None = None) -> None:
        self._plugins = plugins
        self._parsers: dict[str, NamedParser] = {}
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
            RequestFailedError: the reasoning parser failed.
        """
        first = structured.states[0]
        if isinstance(first, RulesState) and is_one_text(structured.states):
            text = grammars[first.digest].start()
        else:
            text = Program(structured.states, grammars, self._indexed(vocabulary)).start()
        return text if structured.reasoning is None else self._gated(structured.reasoning, text, vocabulary)

    def warm(self, vocabulary: TokenVocabulary) -> None:
        """Looks through a vocabulary, which takes a while, before an answer needs it."""
        self._indexed(vocabulary)

    def _gated(self, reasoning: ReasoningGate, text: Grammar, vocabulary: TokenVocabulary) -> Grammar:
        """A text before which is thought."""
        thought = start_thought(self._parser(reasoning.parser), reasoning, vocabulary.token_bytes)
        gate = Gate(self._indexed(vocabulary), reasoning.tokens, reasoning.max_whitespace, reasoning.excludes)
        return GatedGrammar(gate, thought, text)

    def _parser(self, name: str) -> NamedParser:
        with self._lock:
            if name not in self._parsers:
                assert self._plugins is not None, "a start that reasons has plugins"
                self._parsers[name] = find_parser(self._plugins, ReasoningParserOffer, name)
            return self._parsers[name]

    def _indexed(self, vocabulary: TokenVocabulary) -> TokenIndex:
        with self._lock:
            if self._index is None or self._index[0] != vocabulary.digest:
                self._index = (vocabulary.digest, TokenIndex(vocabulary))
            return self._index[1]
