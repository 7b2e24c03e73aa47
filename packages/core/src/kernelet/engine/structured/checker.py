"""Constraints tried without a model: who would serve one, and which texts it lets through to their end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from kernelet.contracts.sampling import StructuredOutputsParams
from kernelet.contracts.structured import CompiledGrammar, TokenVocabulary
from kernelet.engine.structured.compiler import GrammarCompiler
from kernelet.engine.structured.grammars import described
from kernelet.engine.structured.prepare import NAME, StructuredOutputs
from kernelet.errors import (
    MalformedConstraintError,
    ParameterError,
    RequestFailedError,
    SandboxError,
    UnenforcedConstraintError,
)
from kernelet.request.structured import RulesState
from kernelet.text.tokenizer import Tokenizer

Tokenize = Callable[[str], Sequence[int]]
"""A text to tokens whose bytes are the text's."""


@dataclass(frozen=True, kw_only=True)
class Checked:
    """What was found.

    Attributes:
        engine: Who would serve the constraint; None: nobody.
        reasons: Where nobody does: why, by the place in the constraint; the empty place is the constraint as a whole.
        accepted: Of each text, whether it is let through to its end.
        wrong: It is malformed or too large, or an engine failed; nothing is said of what engines enforce.
    """

    engine: str | None
    reasons: dict[str, str] = field(default_factory=dict)
    accepted: tuple[bool, ...] = ()
    wrong: bool = False


class GrammarChecker:
    """Tries constraints. Safe to use from several threads.

    Args:
        structured: Reads constraints.
        compiler: Compiles them.
        tokenize: Cuts texts.
    """

    def __init__(self, structured: StructuredOutputs, compiler: GrammarCompiler, tokenize: Tokenize) -> None:
        self._structured = structured
        self._compiler = compiler
        self._tokenize = tokenize

    def check(self, params: StructuredOutputsParams, texts: Sequence[str]) -> Checked:
        """Who would serve a constraint, and which texts it lets through."""
        try:
            prepared = self._structured.prepare(params)
            assert prepared.engine is not None
            (state,) = prepared.states
            assert isinstance(state, RulesState)
            engine, compiled = self._compile((prepared.engine, *prepared.others), state.rules)
        except UnenforcedConstraintError as error:
            return Checked(engine=None, reasons=dict(error.refusals) or {"": "; ".join(error.reasons)})
        except MalformedConstraintError as error:
            return Checked(engine=None, reasons={error.place: error.reason}, wrong=True)
        except (ParameterError, RequestFailedError, SandboxError) as error:
            return Checked(engine=None, reasons={"": str(error).removeprefix(f"{NAME}: ")}, wrong=True)
        accepted = tuple(self._accepts(compiled, text) for text in texts)
        return Checked(engine=engine, accepted=accepted)

    def close(self) -> None:
        """Ends the helpers."""
        self._structured.close()
        self._compiler.close()

    def _compile(self, engines: Sequence[str], rules: bytes) -> tuple[str, CompiledGrammar]:
        """What the first engine that can makes of rules."""
        failures: dict[str, Exception] = {}
        for engine in engines:
            try:
                return engine, self._compiler.compile(engine, rules)
            except (ParameterError, RequestFailedError, SandboxError) as error:
                failures[engine] = error
        raise described(failures)

    def _accepts(self, compiled: CompiledGrammar, text: str) -> bool:
        grammar = compiled.start()
        tokens = self._tokenize(text)
        return (not tokens or grammar.accept(tokens)) and grammar.can_end()


def tokenize_bytes(text: str) -> list[int]:
    """Tokens of the vocabulary of bytes."""
    return list(text.encode())


def tokenizer_cut(tokenizer: Tokenizer, vocabulary: TokenVocabulary) -> Tokenize:
    """As a tokenizer cuts texts; where it adds or changes something, the longest token that fits at each place."""
    by_bytes: dict[bytes, int] = {}
    for index, token in enumerate(vocabulary.token_bytes):
        if token:
            by_bytes.setdefault(token, index)
    longest = max(map(len, by_bytes), default=0)

    def cut(text: str) -> list[int]:
        data = text.encode()
        ids = [one for one in tokenizer.encode(text, add_special_tokens=False) if one < len(vocabulary.token_bytes)]
        if b"".join(vocabulary.token_bytes[one] for one in ids) == data:
            return ids
        found: list[int] = []
        place = 0
        while place < len(data):
            size = next((n for n in range(longest, 0, -1) if data[place : place + n] in by_bytes), 0)
            if not size:
                raise ParameterError("instances", f"no token of the tokenizer begins at byte {place} of {text!r:.60}")
            piece = data[place : place + size]
            found.append(by_bytes[piece])
            place += len(piece)
        return found

    return cut
