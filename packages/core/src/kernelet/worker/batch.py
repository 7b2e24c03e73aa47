"""The requests that a worker holds, from the step that brings them to the one that ends them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernelet.contracts.cache import FullAttentionSpec
from kernelet.contracts.executor import NewRequest, ScheduledRequest, StepPlan
from kernelet.contracts.sampling import SamplerParams
from kernelet.sampling.sampler import Sampler
from kernelet.worker.tables import BlockTable


@dataclass
class HeldRequest:
    """One request.

    Attributes:
        request_id: Its id.
        row: Its row in the arrays.
        params: Its sampling parameters.
        num_prompt_tokens: Length of its prompt.
        num_tokens: Tokens that are known, sampled ones included.
        pooling: How its states are pooled; None: it generates.
        total: float64 [hidden], the sum of its states so far, where they are averaged.
        error: Why it failed; it is computed no more.
        error_parameter: The field that it failed by; None: by none.
    """

    request_id: str
    row: int
    params: SamplerParams
    num_prompt_tokens: int
    num_tokens: int
    pooling: str | None = None
    total: NDArray[np.float64] | None = None
    error: str | None = None
    error_parameter: str | None = None


class BatchState:
    """Token ids and block tables of all requests, in arrays from which a step's inputs are taken at once.

    Attributes:
        tokens: int64 [rows, tokens].
        tables: One a cache group.

    Args:
        specs: What each group keeps.
        max_num_seqs: Requests to begin with; more make the arrays grow.
        max_model_len: Largest number of tokens of a request.
        sampler: Told of every request that comes and goes.
    """

    def __init__(
        self, specs: Sequence[FullAttentionSpec], max_num_seqs: int, max_model_len: int, sampler: Sampler
    ) -> None:
        self.tokens: NDArray[np.int64] = np.zeros((max_num_seqs, max_model_len + 1), dtype=np.int64)
        self.tables = tuple(
            BlockTable(spec.block_size, max_num_seqs, max_model_len + 1, getattr(spec, "window", None))
            for spec in specs
        )
        self._free = list(range(max_num_seqs - 1, -1, -1))
        self._held: dict[str, HeldRequest] = {}
        self._sampler = sampler

    def __len__(self) -> int:
        return len(self._held)

    def __getitem__(self, request_id: str) -> HeldRequest:
        return self._held[request_id]

    def apply(self, plan: StepPlan) -> None:
        """Forgets, takes up, and appends blocks. What is wrong with one request becomes its error."""
        for request_id in (*plan.finished, *plan.preempted):
            self._remove(request_id)
        for new in plan.new:
            self._add(new)
        for entry in plan.scheduled:
            held = self._held[entry.request_id]
            try:
                self._append_blocks(held, entry.new_block_ids)
                _check(held, entry)
            except ValueError as error:
                held.error = held.error or str(error)

    def append(self, held: HeldRequest, token: int) -> None:
        """A token was sampled: the next step's placeholder is filled."""
        self.tokens[held.row, held.num_tokens] = token
        held.num_tokens += 1

    def _add(self, new: NewRequest) -> None:
        if new.request_id in self._held:
            raise RuntimeError(f"request {new.request_id} was given to the worker twice")
        held = HeldRequest(
            request_id=new.request_id,
            row=self._take_row(),
            params=new.params,
            num_prompt_tokens=new.num_prompt_tokens,
            num_tokens=len(new.token_ids),
            pooling=new.pooling,
        )
        self._held[new.request_id] = held
        try:
            self.tokens[held.row, : held.num_tokens] = new.token_ids
            self._append_blocks(held, new.block_ids)
            prompt, generated = new.token_ids[: new.num_prompt_tokens], new.token_ids[new.num_prompt_tokens :]
            if new.pooling is None:
                self._sampler.add(new.request_id, new.params, prompt, generated)
        except Exception as error:  # noqa: BLE001 - one request can only hurt itself
            held.error = f"the worker cannot take up the request: {error}"

    def _remove(self, request_id: str) -> None:
        held = self._held.pop(request_id, None)
        if held is None:
            return
        self._sampler.remove(request_id)
        for table in self.tables:
            table.clear(held.row)
        self._free.append(held.row)

    def _append_blocks(self, held: HeldRequest, block_ids: Sequence[Sequence[int]]) -> None:
        if not any(block_ids):
            return
        for table, blocks in zip(self.tables, block_ids, strict=True):
            if blocks:
                table.append(held.row, blocks)

    def _take_row(self) -> int:
        if not self._free:
            rows = len(self.tokens)
            self.tokens = np.concatenate([self.tokens, np.zeros_like(self.tokens)])
            for table in self.tables:
                table.grow(2 * rows)
            self._free = list(range(2 * rows - 1, rows - 1, -1))
        return self._free.pop()


def _check(held: HeldRequest, entry: ScheduledRequest) -> None:
    end = entry.num_computed_tokens + entry.num_tokens
    if entry.drafts:
        raise ValueError("the plan holds draft tokens, but this worker verifies none")
    if entry.num_tokens < 1 or end > held.num_tokens:
        raise ValueError(
            f"the plan computes tokens {entry.num_computed_tokens} to {end} of a request with {held.num_tokens}"
        )
    if entry.sample and end != held.num_tokens:
        raise ValueError(f"the plan samples after token {end} of a request with {held.num_tokens}")
