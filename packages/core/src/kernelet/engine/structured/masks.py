"""Mask rows of a step: which tokens each constrained request may take next."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kernelet.config import StructuredConfig
from kernelet.contracts.sampling import SamplerParams
from kernelet.contracts.structured import Grammar
from kernelet.engine.structured.forced import ForcedText, row_of, tokens_of
from kernelet.errors import RequestFailedError
from kernelet.request.request import Request

logger = logging.getLogger(__name__)

MANY_ROWS: Final = 8
SLOW_ROW: Final = 1e-4
"""From so many rows of so many seconds on, threads share them: less is filled before a thread has woken up."""


class MaskFiller:
    """Fills rows, while the device computes.

    Args:
        vocab_size: Columns of the logits.
        config: Threads and time.
        forced: Knows how text is written that must come; None: in any tokens that the model likes.
        clock: Seconds, rising.
    """

    def __init__(
        self,
        vocab_size: int,
        config: StructuredConfig,
        forced: ForcedText | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._num_words = -(-vocab_size // 32)
        self._timeout = config.mask_timeout
        self._num_threads = config.mask_threads
        self._forced = forced
        self._clock = clock
        self._threads: ThreadPoolExecutor | None = None
        self._row_seconds = 0.0  # of the last step, on average

    def rows(self, requests: Sequence[Request]) -> tuple[dict[str, bytes], list[tuple[Request, Exception]]]:
        """The row of each request, and why some have none: these fail, nobody else notices."""
        if len(requests) >= MANY_ROWS and self._row_seconds >= SLOW_ROW and self._num_threads > 1:
            if self._threads is None:
                self._threads = ThreadPoolExecutor(self._num_threads, thread_name_prefix="kernelet-mask")
            found = list(self._threads.map(self._row, requests))
        else:
            found = [self._row(request) for request in requests]
        self._row_seconds = sum(seconds for _, seconds in found) / max(len(found), 1)
        rows: dict[str, bytes] = {}
        failures: list[tuple[Request, Exception]] = []
        for request, (row, _) in zip(requests, found, strict=True):
            if isinstance(row, Exception):
                failures.append((request, row))
            else:
                rows[request.request_id] = row
        return rows, failures

    def single(self, token: int) -> bytes:
        """The row of a token that is known before it is sampled."""
        return encoded(row_of(token, self._num_words))

    def only(self, request: Request) -> int | None:
        """The only token that may come next, where that is seen without looking at many.

        Returns:
            None: there is a choice, or the request is told of each token what the model made of it.

        Raises:
            RequestFailedError: no token may come, or finding out took too long.
        """
        grammar = request.grammar
        if grammar is None or request.data.params.logprobs is not None or self._forced_of(request) is None:
            return None
        if not (grammar.forced() or grammar.can_end()):
            return None
        row, _ = self._row(request)
        if isinstance(row, Exception):
            raise row
        found = list(islice(tokens_of(np.frombuffer(row, "<i4")), 2))
        return found[0] if len(found) == 1 else None

    def close(self) -> None:
        """Ends the threads."""
        if self._threads is not None:
            self._threads.shutdown()

    def _forced_of(self, request: Request) -> ForcedText | None:
        return None if picks_tokens(request.data.params) else self._forced

    def _row(self, request: Request) -> tuple[bytes | Exception, float]:
        """The row, or why there is none, and the seconds it took."""
        grammar = request.grammar
        assert grammar is not None
        began = self._clock()
        try:
            row = mask_row(grammar, request.data.stop_token_ids, self._num_words, self._forced_of(request))
        except Exception as error:  # noqa: BLE001  it belongs to the request
            return error, 0.0
        seconds = self._clock() - began
        if seconds > self._timeout:
            slow = f"the constraint's next tokens took {seconds:.1f} s to find, more than {self._timeout:g} s"
            return RequestFailedError(slow), seconds
        return row, seconds


def mask_row(
    grammar: Grammar, stop_token_ids: Sequence[int], num_words: int, forced: ForcedText | None = None
) -> bytes:
    """One row: what the grammar takes, and the request's stop tokens where the text may end.

    Args:
        grammar: Where the text stands.
        stop_token_ids: The request's.
        num_words: Of a row.
        forced: Leaves one token of text that must come; None: all that the grammar takes.

    Raises:
        RequestFailedError: nothing is left to choose.
    """
    row: NDArray[np.int32] = np.zeros(num_words, dtype=np.int32)
    grammar.fill_mask(row)
    if grammar.can_end():
        bits = row.view(np.uint32)
        for token in stop_token_ids:
            bits[token >> 5] |= np.uint32(1 << (token & 31))
    elif forced is not None:
        only = forced.token(grammar, row)
        if only is not None and only not in stop_token_ids:  # it would cut the text
            row = row_of(only, num_words)
    if not row.any():
        raise RequestFailedError("the constraint leaves no token to choose: no token of this model continues the text")
    return encoded(row)


def encoded(row: NDArray[np.int32]) -> bytes:
    """A row as workers read it."""
    return row.astype("<i4", copy=False).tobytes()


def picks_tokens(params: SamplerParams) -> bool:
    """Whether a request has a say in which tokens its text is written with."""
    return bool(
        params.allowed_token_ids is not None or params.bad_words_token_ids or params.logit_bias or params.extra_args
    )
