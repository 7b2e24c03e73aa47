"""The libraries alone: from a schema to masks in their own way, with nothing of ours between."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np

from kernelet.contracts.structured import TokenVocabulary


class Peer(Protocol):
    """A library, set up for a vocabulary."""

    def __init__(self, vocabulary: TokenVocabulary, folder: Path) -> None: ...

    def compile(self, schema: Mapping[str, Any]) -> Any:
        """What answers start from."""

    def start(self, compiled: Any) -> Any:
        """An answer."""

    def fill(self, answer: Any) -> Any:
        """Its mask, in the library's form."""

    def accept(self, answer: Any, token: int) -> bool:
        """Goes on."""


class XGrammar:
    """xgrammar."""

    def __init__(self, vocabulary: TokenVocabulary, folder: Path) -> None:
        import xgrammar

        self.library = xgrammar
        tokens = list(vocabulary.token_bytes)
        raw = xgrammar.VocabType.RAW
        self.info = xgrammar.TokenizerInfo(
            tokens, raw, vocab_size=len(tokens), stop_token_ids=[*vocabulary.stop_token_ids]
        )
        self.compiler = xgrammar.GrammarCompiler(self.info, max_threads=1, cache_enabled=False)
        self.row = xgrammar.allocate_token_bitmask(1, len(tokens))

    def compile(self, schema: Mapping[str, Any]) -> Any:
        return self.compiler.compile_json_schema(json.dumps(schema))

    def start(self, compiled: Any) -> Any:
        return self.library.GrammarMatcher(compiled)

    def fill(self, answer: Any) -> Any:
        answer.fill_next_token_bitmask(self.row)

    def accept(self, answer: Any, token: int) -> bool:
        return bool(answer.accept_token(token))


class Guidance:
    """llguidance."""

    def __init__(self, vocabulary: TokenVocabulary, folder: Path) -> None:
        import llguidance
        import llguidance.numpy

        self.library = llguidance
        size = len(vocabulary.token_bytes)
        text = (folder / "tokenizer.json").read_text(encoding="utf-8")
        self.tokenizer = llguidance.LLTokenizer(text, n_vocab=size, eos_token=vocabulary.stop_token_ids[0])
        self.row = llguidance.numpy.allocate_token_bitmask(1, size)
        self.fill_row = llguidance.numpy.fill_next_token_bitmask

    def compile(self, schema: Mapping[str, Any]) -> Any:
        grammar = self.library.LLMatcher.grammar_from_json_schema(json.dumps(schema))
        return self.library.LLMatcher(self.tokenizer, grammar)

    def start(self, compiled: Any) -> Any:
        return compiled.deep_copy()

    def fill(self, answer: Any) -> Any:
        self.fill_row(answer, self.row)

    def accept(self, answer: Any, token: int) -> bool:
        return bool(answer.consume_token(token))


class Outlines:
    """outlines-core."""

    def __init__(self, vocabulary: TokenVocabulary, folder: Path) -> None:
        import outlines_core

        self.library = outlines_core
        ids: dict[bytes, list[int]] = {}
        for token_id, token in enumerate(vocabulary.token_bytes):
            if token:
                ids.setdefault(token, []).append(token_id)
        self.tokens = outlines_core.Vocabulary(vocabulary.stop_token_ids[0], ids)
        self.row = np.zeros(vocabulary.num_words, np.int32)

    def compile(self, schema: Mapping[str, Any]) -> Any:
        from outlines_core.json_schema import build_regex_from_schema

        return self.library.Index(build_regex_from_schema(json.dumps(schema)), self.tokens)

    def start(self, compiled: Any) -> Any:
        return self.library.Guide(compiled)

    def fill(self, answer: Any) -> Any:
        answer.write_mask_into(self.row.ctypes.data, self.row.size, self.row.itemsize)

    def accept(self, answer: Any, token: int) -> bool:
        answer.advance(token, return_tokens=False)
        return True


class Lmfe:
    """lm-format-enforcer: masks are lists of tokens."""

    def __init__(self, vocabulary: TokenVocabulary, folder: Path) -> None:
        import lmformatenforcer

        self.library = lmformatenforcer
        texts = [token.decode(errors="replace") for token in vocabulary.token_bytes]
        self.data = lmformatenforcer.TokenEnforcerTokenizerData(
            [(token_id, text, True) for token_id, text in enumerate(texts) if text],
            lambda ids: "".join(texts[token_id] for token_id in ids),
            list(vocabulary.stop_token_ids),
            use_bitmask=False,
            vocab_size=len(texts),
        )

    def compile(self, schema: Mapping[str, Any]) -> Any:
        return self.library.JsonSchemaParser(dict(schema))

    def start(self, compiled: Any) -> Any:
        return self.library.TokenEnforcer(self.data, compiled), []

    def fill(self, answer: Any) -> Any:
        enforcer, tokens = answer
        return enforcer.get_allowed_tokens(tokens)

    def accept(self, answer: Any, token: int) -> bool:
        answer[1].append(token)
        return True


PEERS: Mapping[str, type[Peer]] = MappingProxyType(
    {"xgrammar": XGrammar, "guidance": Guidance, "outlines": Outlines, "lmfe": Lmfe}
)
