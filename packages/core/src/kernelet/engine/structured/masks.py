"""Mask rows of a step: which tokens each constrained request may take next."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kernelet.config import StructuredConfig
from kernelet.contracts.structured import Grammar
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
        clock: Seconds, rising.
    """

    def __init__(self, vocab_size: int, config: StructuredConfig, clock: Callable[[], float] = time.monotonic) -> None:
        self._num_words = -(-vocab_size // 32)
        self._timeout = config.mask_timeout
        self._num_threads = config.mask_threads
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

    def close(self) -> None:
        """Ends the threads."""
        if self._threads is not None:
            self._threads.shutdown()

    def _row(self, request: Request) -> tuple[bytes | Exception, float]:
        """The row, or why there is none, and the seconds it took."""
        grammar = request.grammar
        assert grammar is not None
        began = self._clock()
        try:
            row = mask_row(grammar, request.data.stop_token_ids, self._num_words)
        except Exception as error:  # noqa: BLE001  it belongs to the request
            return error, 0.0
        seconds = self._clock() - began
        if seconds > self._timeout:
            slow = f"the constraint's next tokens took {seconds:.1f} s to find, more than {self._timeout:g} s"
            return RequestFailedError(slow), seconds
        return row, seconds


def mask_row(grammar: Grammar, stop_token_ids: Sequence[int], num_words: int) -> bytes:
    """One row: what the grammar takes, and the request's stop tokens where the text may end.

    Raises:
        RequestFailedError: nothing is left to choose.
    """
    row: NDArray[np.int32] = np.zeros(num_words, dtype=np.int32)
    grammar.fill_mask(row)
    if grammar.can_end():
        bits = row.view(np.uint32)
        for token in stop_token_ids:
            bits[token >> 5] |= np.uint32(1 << (token & 31))
    if not row.any():
        raise RequestFailedError("the constraint leaves no token to choose: no token of this model continues the text")
    return row.astype("<i4", copy=False).tobytes()
