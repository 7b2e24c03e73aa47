"""A grammar whose engine cannot hurt anybody but its request."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from kernelet.contracts.structured import Grammar
from kernelet.engine.structured.compiler import failed
from kernelet.errors import KerneletError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

logger = logging.getLogger(__name__)


class GuardedGrammar(Grammar):
    """Passes every call on; what the engine raises is logged, and becomes the request's own error.

    Args:
        grammar: Of an engine.
        engine: Its name.
        token_bytes: Of the vocabulary: what must come is asked for once, and remembered while tokens are of it.
    """

    def __init__(self, grammar: Grammar, engine: str, token_bytes: Sequence[bytes] = ()) -> None:
        self._grammar = grammar
        self._engine = engine
        self._token_bytes = token_bytes
        self._forced = b""

    def accept(self, token_ids: Sequence[int]) -> bool:
        accepted = bool(self._call(self._grammar.accept, token_ids))
        if accepted and self._forced:
            self._forced = self._rest_after(token_ids)
        return accepted

    def validate(self, token_ids: Sequence[int]) -> int:
        return int(self._call(self._grammar.validate, token_ids))

    def rollback(self, num_tokens: int) -> None:
        self._forced = b""
        self._call(self._grammar.rollback, num_tokens)

    def fork(self) -> Grammar:
        return GuardedGrammar(self._call(self._grammar.fork), self._engine, self._token_bytes)

    def fill_mask(self, row: NDArray[np.int32]) -> None:
        self._call(self._grammar.fill_mask, row)

    def can_end(self) -> bool:
        return bool(self._call(self._grammar.can_end))

    def must_end(self) -> bool:
        return bool(self._call(self._grammar.must_end))

    def forced(self) -> bytes:
        if not self._forced:
            self._forced = bytes(self._call(self._grammar.forced))
        return self._forced

    def _rest_after(self, token_ids: Sequence[int]) -> bytes:
        """What of the text that must come is still to come; nothing is known behind other tokens."""
        rest = self._forced
        for token_id in token_ids:
            text = self._token_bytes[token_id] if token_id < len(self._token_bytes) else b""
            if not text or not rest.startswith(text):
                return b""
            rest = rest[len(text) :]
        return rest

    def _call(self, method: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return method(*arguments)
        except KerneletError:
            raise
        except Exception as error:
            logger.exception("the grammar engine %r failed", self._engine)
            raise failed(self._engine, type(error).__name__) from error
