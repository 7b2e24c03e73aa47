"""The engine: compiles rules, loads what was compiled."""

from __future__ import annotations

import re
from typing import Final

import numpy as np
import xgrammar
from numpy.typing import NDArray

from kernelet.contracts.offer import Settings
from kernelet.contracts.structured import CompiledGrammar, Grammar, GrammarEngine, GrammarRules, TokenVocabulary
from kernelet_structured_xgrammar.answer import XGrammarAnswer
from kernelet_structured_xgrammar.write import ebnf_of

WHERE: Final = re.compile(r"^(\[[0-9:]+\] )?(\S+\.(cc|h):[0-9]+: )?")
"""What the library's messages begin with: a time, a file of its source."""


class XGrammarEngine(GrammarEngine):
    """One vocabulary's engine; making it takes tens of milliseconds, which no request should wait for twice."""

    def __init__(self, settings: Settings, vocabulary: TokenVocabulary) -> None:
        super().__init__(settings, vocabulary)
        tokens = list(vocabulary.token_bytes)
        # Without stop tokens of its own, which it would guess if they were not named: core ends answers.
        self._tokenizer = xgrammar.TokenizerInfo(
            tokens, xgrammar.VocabType.RAW, vocab_size=len(tokens), stop_token_ids=[]
        )
        self._compiler = xgrammar.GrammarCompiler(self._tokenizer, max_threads=1, cache_enabled=False)
        self._allowed = allowed_row(vocabulary)

    def compile(self, rules: GrammarRules) -> bytes:
        try:
            grammar = xgrammar.Grammar.from_ebnf(ebnf_of(rules, len(self.vocabulary.token_bytes)))
            compiled = self._compiler.compile_grammar(grammar)
        except KeyError as error:
            raise ValueError(f"xgrammar cannot compile it: there is no rule {error}") from None
        except RecursionError:
            raise ValueError("xgrammar cannot compile it: it is nested too deep") from None
        except RuntimeError as error:
            raise ValueError(f"xgrammar cannot compile it: {clean(error)}") from None
        return compiled.serialize_json().encode()

    def load(self, compiled: bytes) -> CompiledGrammar:
        grammar = xgrammar.CompiledGrammar.deserialize_json(compiled.decode(), self._tokenizer)
        return XGrammarCompiled(grammar, self._allowed, self.vocabulary)


class XGrammarCompiled(CompiledGrammar):
    """A grammar with its masks."""

    def __init__(
        self, grammar: xgrammar.CompiledGrammar, allowed: NDArray[np.int32], vocabulary: TokenVocabulary
    ) -> None:
        self._grammar = grammar
        self._allowed = allowed
        self._vocabulary = vocabulary

    @property
    def num_bytes(self) -> int:
        return int(self._grammar.memory_size_bytes)

    def start(self) -> Grammar:
        return XGrammarAnswer(xgrammar.GrammarMatcher(self._grammar), self._allowed, self._vocabulary.token_bytes)


def allowed_row(vocabulary: TokenVocabulary) -> NDArray[np.int32]:
    """A mask row of the tokens that have bytes: the library sets bits beyond the vocabulary too."""
    bits = np.zeros(vocabulary.num_words * 32, np.bool_)
    bits[: len(vocabulary.token_bytes)] = [bool(token) for token in vocabulary.token_bytes]
    return np.packbits(bits, bitorder="little").view("<i4").astype(np.int32)


def clean(error: Exception) -> str:
    """What went wrong, without when and where in the library's source."""
    return WHERE.sub("", str(error).strip())
