"""Runs steps: applies the plan, computes the model, samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor

from kernelet.contracts.executor import SampledRequest, SamplePlan, ScheduledRequest, StepPlan, StepResult
from kernelet.contracts.model import Model, StepInputs
from kernelet.contracts.sampling import TokenLogprobs
from kernelet.layers.context import SINGLE_RANK, TensorParallel
from kernelet.sampling.sampler import Outcome, Sampler
from kernelet.worker.batch import BatchState, HeldRequest
from kernelet.worker.graphs import DecodeGraphs
from kernelet.worker.inputs import StepArrays, build_inputs
from kernelet.worker.kv_cache import KVCaches
from kernelet.worker.kv_transfer.transfer import KVTransfer
from kernelet.worker.pooling import pool
from kernelet.worker.prompt_logprobs import prompt_logprobs
from kernelet.worker.ranks import tell_ranks

Work = tuple[HeldRequest, ScheduledRequest]


@dataclass
class PendingStep:
    """A step whose model pass is done and whose tokens are not sampled yet.

    Attributes:
        plan: The step.
        logits: [sampled requests, vocab]; None where none is sampled.
        sampled: The requests of the rows of ``logits``.
        prompt: Prompt log-probabilities by request id.
        pooled: Pooled states by request id.
        failed: Why requests failed where only one rank could notice.
        extensions: What connectors say, by name.
    """

    plan: StepPlan
    logits: Tensor | None = None
    sampled: list[str] = field(default_factory=list)
    prompt: dict[str, list[TokenLogprobs]] = field(default_factory=dict)
    pooled: dict[str, bytes] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    extensions: dict[str, bytes] = field(default_factory=dict)


class ModelRunner:
    """Computes steps one after the other; a step's model pass comes after the sampling of the one before.

    Args:
        model: The model, its attention layers bound to ``caches``.
        caches: The caches.
        sampler: The sampler.
        batch: The requests.
        device: Where tensors live.
        parallel: The ranks that run the same steps; the first one samples.

    Attributes:
        kv_transfer: KV connectors, called in each step; None: there are none.
        graphs: Recorded decode steps; None: every step is launched.
    """

    def __init__(
        self,
        model: Model,
        caches: KVCaches,
        sampler: Sampler,
        batch: BatchState,
        device: Any,
        parallel: TensorParallel = SINGLE_RANK,
    ) -> None:
        self._parallel = parallel
        self._model = model
        self._caches = caches
        self._sampler = sampler
        self._batch = batch
        self._device = device
        self.kv_transfer: KVTransfer | None = None
        self.graphs: DecodeGraphs | None = None

    @torch.inference_mode()
    def execute(self, plan: StepPlan) -> PendingStep:
        """First half of a step: all tokens through the model, and logits where they are needed."""
        kv = self.kv_transfer
        if kv is not None:
            kv.fence(plan)
        self._batch.apply(plan)
        self._caches.copy(plan.copies)
        if kv is not None:
            kv.start(plan)
        pending = PendingStep(plan)
        work: list[Work] = []
        for entry in plan.scheduled:
            held = self._batch[entry.request_id]
            if held.error is None:
                work.append((held, entry))
        if work:
            arrays = build_inputs(self._batch, work)
            states = self._states(arrays)
            pending.pooled = pool(work, arrays.query_start_loc, states)
            self._prompt_logprobs(pending, work, arrays, states)
            self._logits(pending, work, arrays, states)
        if kv is not None:
            pending.extensions = kv.finish()
        return pending

    def forward(self, arrays: StepArrays) -> Tensor:
        """States [tokens, hidden] of a step's tokens."""
        inputs = StepInputs(
            token_ids=torch.from_numpy(arrays.token_ids).to(self._device),
            positions=torch.from_numpy(arrays.positions).to(self._device),
            attention=self._caches.build_metadata(arrays.groups),
        )
        return self._model.forward(inputs).states

    def _states(self, arrays: StepArrays) -> Tensor:
        graphs, kv = self.graphs, self.kv_transfer
        key = None if graphs is None else graphs.key_of(arrays)
        if graphs is None or key is None:
            return self.forward(arrays) if kv is None else kv.around(partial(self.forward, arrays))
        if kv is None:
            return graphs.forward(key, arrays)
        return kv.around(partial(graphs.forward, key, arrays), whole=True)

    @torch.inference_mode()
    def sample(self, pending: PendingStep, plan: SamplePlan) -> StepResult:
        """Second half of a step: one token for each request whose logits were computed."""
        outcomes: dict[str, Outcome] = {}
        if self._parallel.rank == 0 and pending.logits is not None:
            found = self._sampler.sample(pending.logits, pending.sampled, plan.mask_rows)
            outcomes = {outcome.request_id: outcome for outcome in found}
        for request_id, error in pending.failed.items():
            self._batch[request_id].error = self._batch[request_id].error or error
        tell_ranks(self._parallel, self._device, pending.plan.scheduled, self._batch, outcomes)
        for outcome in outcomes.values():
            held = self._batch[outcome.request_id]
            if held.error is None:
                held.error, held.error_parameter = outcome.error, outcome.error_parameter
            if outcome.error is None:
                self._batch.append(held, outcome.token)
        results = tuple(
            self._result(entry, pending, outcomes.get(entry.request_id)) for entry in pending.plan.scheduled
        )
        return StepResult(
            step=pending.plan.step,
            requests=results,
            extensions={name: [data] for name, data in pending.extensions.items()},
        )

    def _prompt_logprobs(self, pending: PendingStep, work: Sequence[Work], arrays: StepArrays, states: Tensor) -> None:
        for index, (held, entry) in enumerate(work):
            if held.params.prompt_logprobs is None:
                continue
            rows = states[arrays.query_start_loc[index] : arrays.query_start_loc[index + 1]]
            try:
                pending.prompt[held.request_id] = prompt_logprobs(
                    held, entry, rows, self._batch.tokens[held.row], self._model.compute_logits
                )
            except ValueError as error:
                pending.failed[held.request_id] = str(error)

    def _logits(self, pending: PendingStep, work: Sequence[Work], arrays: StepArrays, states: Tensor) -> None:
        rows = [index for index, (held, entry) in enumerate(work) if entry.sample and held.error is None]
        if not rows:
            return
        pending.sampled = [work[index][0].request_id for index in rows]
        last = arrays.query_start_loc[1:][rows] - 1
        if len(last) != len(states):
            states = states.index_select(0, torch.from_numpy(last).to(states.device))
        pending.logits = self._model.compute_logits(states)

    def _result(self, entry: ScheduledRequest, pending: PendingStep, outcome: Outcome | None) -> SampledRequest:
        held = self._batch[entry.request_id]
        if held.error is not None:
            return SampledRequest(
                request_id=entry.request_id,
                token_ids=[],
                epoch=entry.epoch,
                error=held.error,
                error_parameter=held.error_parameter,
            )
        return SampledRequest(
            request_id=entry.request_id,
            token_ids=[] if outcome is None else [outcome.token],
            epoch=entry.epoch,
            logprobs=None if outcome is None or outcome.logprobs is None else [outcome.logprobs],
            prompt_logprobs=pending.prompt.get(entry.request_id),
            pooled=pending.pooled.get(entry.request_id),
        )
