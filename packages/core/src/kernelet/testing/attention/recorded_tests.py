"""Decode steps that are recorded once and replayed."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest
from torch import Tensor

from kernelet.contracts.attention import AttentionSpec
from kernelet.contracts.graphs import CapturesDecode
from kernelet.testing.attention.layers import AttentionCapabilities, Layers
from kernelet.testing.attention.pages import tensors_of
from kernelet.testing.attention.steps import PagedRequests, PlannedStep, Requests, play
from kernelet.testing.suite import Suite
from kernelet.testing.tensors import check_close, check_equal
from kernelet.testing.verdict import check
from kernelet.worker.dummy import fill_up

ROWS = 5
"""Requests of the recorded step: more than there are."""


class RecordedTests(Suite):
    """Part of ``AttentionSuite``."""

    capabilities: ClassVar[AttentionCapabilities]

    @pytest.fixture
    def recorded(self, plain: AttentionSpec, requests: Requests) -> PagedRequests:
        """Requests whose decode steps can be recorded: of lengths around those of blocks."""
        mine = requests(plain, num_blocks=128)
        if not isinstance(mine.attention, CapturesDecode):
            pytest.skip("its decode steps cannot be recorded: platforms with graphs launch them")
        size = plain.block_size
        play(mine, [{"a": 2 * size - 1, "b": 1, "c": size}])
        return mine

    def test_recorded_metadata_is_refilled(self, recorded: PagedRequests, layers: Layers) -> None:
        metadata = self._made(recorded, 8)
        for counts in ({"a": 1}, {"c": 1, "a": 1, "b": 1}, {"b": 1, "c": 1}):
            step = recorded.plan(counts)
            says = "a step through refilled metadata must give what build_metadata() gives"
            found = self._replayed(recorded, metadata, step, 8)
            check_close(found, recorded.expected(step), layers.tolerance(recorded.spec), says)
            if self.capabilities.batch_invariant:
                check_equal(found, recorded.run(step), f"{says}, bit by bit where every batch has the same")

    def test_refilled_metadata_stays_where_it_is(self, recorded: PagedRequests) -> None:
        metadata = self._made(recorded, 8)
        self._replayed(recorded, metadata, recorded.plan({"a": 1, "b": 1}), 8)  # what is made at first use is there
        before = _places(metadata)
        self._replayed(recorded, metadata, recorded.plan({"c": 1}), 8)
        check(
            _places(metadata) == before,
            "refill() must change tensors in place: a graph has their addresses",
        )

    def test_rows_that_fill_up_are_nobodys(self, recorded: PagedRequests) -> None:
        metadata = self._made(recorded, 8)
        step = recorded.plan({"a": 1, "b": 1})
        alone = recorded.run(step)
        mine = {block for table in recorded.tables.values() for block in table}
        before = {block: recorded.pages.read(block) for block in mine}
        found = self._replayed(recorded, metadata, step, 8)
        check_close(found, alone.cpu(), 1e-2, "rows that fill a batch up must not change the others")
        for block, held in before.items():
            same = bool((recorded.pages.read(block) == held).all())
            check(same, "rows that fill a batch up must be stored in the null block alone")

    def _made(self, mine: PagedRequests, width: int) -> Any:
        attention: Any = mine.attention
        return attention.decode_metadata(ROWS, width, mine.device)

    def _replayed(self, mine: PagedRequests, metadata: Any, step: PlannedStep, width: int) -> Tensor:
        """The step as a graph computes it; its arrays are somebody else's by then."""
        attention: Any = mine.attention
        filled = fill_up(step.batch, ROWS, width)
        attention.refill(metadata, filled)
        for array in _arrays(filled):
            array.fill(7)
        count = len(step.batch.seq_lens)
        padded = [_padded(tensor) for tensor in (step.query, step.key, step.value)]
        attention.write_kv(padded[1], padded[2], mine.cache, metadata)
        found: Tensor = attention.forward(padded[0], mine.cache, metadata, mine.sinks)
        return found[:count]


def _padded(rows: Tensor) -> Tensor:
    """More rows, of zeros."""
    full = rows.new_zeros(ROWS, *rows.shape[1:])
    full[: len(rows)] = rows
    return full


def _places(metadata: Any) -> list[int]:
    """Addresses of what it holds, of arrays of the host too."""
    return sorted([one.data_ptr() for one in tensors_of(metadata)] + [one.ctypes.data for one in _arrays(metadata)])


def _arrays(held: Any) -> list[np.ndarray[Any, Any]]:
    return [one for one in getattr(held, "__dict__", {}).values() if isinstance(one, np.ndarray)]
