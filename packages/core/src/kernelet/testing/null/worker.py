"""The null worker: computes nothing, and checks that what it is told to compute would come out right."""

from __future__ import annotations

from collections import deque

from kernelet.contracts.cache import CacheConfigPlan, FullAttentionSpec, SlidingWindowSpec
from kernelet.contracts.executor import (
    EnginePlan,
    LayerPlan,
    SampledRequest,
    SamplePlan,
    ScheduledRequest,
    Sleep,
    StepPlan,
    StepResult,
    Worker,
    WorkerContext,
)
from kernelet.contracts.platform import PlatformOffer
from kernelet.contracts.sampling import TokenLogprobs
from kernelet.testing.null.batch import Batch, HeldRequest
from kernelet.testing.null.masks import masked
from kernelet.testing.null.model import cache_specs
from kernelet.testing.null.platform import memory_bytes
from kernelet.testing.null.plugin import ARCHITECTURE, NAME
from kernelet.testing.null.store import GroupStore, PlanError
from kernelet.testing.null.tokens import logprobs, next_token, pooled


class NullWorker(Worker, Sleep):
    """Takes steps in order; ``extra_args={"platform-null": {"fail_at": n}}`` makes a request fail at its n-th token."""

    def __init__(self, context: WorkerContext) -> None:
        self._context = context
        self._model = context.config.model
        self._specs = cache_specs(self._model.hf_config, context.config.cache.block_size)
        self._stores: tuple[GroupStore, ...] = ()
        self._batch = Batch(())
        self._results: deque[tuple[StepPlan, StepResult]] = deque()

    def init_device(self) -> None:
        """Nothing to take."""

    def load_model(self) -> None:
        """Nothing to load."""

    def get_kv_cache_spec(self) -> dict[str, FullAttentionSpec | SlidingWindowSpec]:
        return dict(self._specs)

    def determine_available_memory(self) -> int:
        plugins = self._context.plugins
        owner = plugins.select(PlatformOffer, self._context.platform.name).chosen
        return memory_bytes(plugins.settings(owner.plugin))

    def initialize_from_config(self, cache: CacheConfigPlan) -> None:
        self._cache = cache
        self._stores = tuple(GroupStore(group) for group in cache.groups)
        self._batch = Batch(self._stores)

    def compile_or_warm_up_model(self) -> None:
        """Nothing to compile."""

    def sleep(self, level: int) -> None:
        """Forgets the cache; there are no weights.

        Raises:
            PlanError: a request is held.
        """
        del level
        if self._batch.held:
            raise PlanError(f"asked to sleep while requests are held: {sorted(self._batch.held)}")
        self._stores, self._batch = (), Batch(())

    def wake_up(self) -> None:
        """An empty cache."""
        self.initialize_from_config(self._cache)

    def get_plan(self) -> EnginePlan:
        return EnginePlan(
            architecture=ARCHITECTURE,
            row="null",
            dtype=self._model.dtype,
            platform=self._context.platform.name,
            layers=tuple(LayerPlan(name=name, role="attention", choice="null") for name in self._specs),
            max_model_len=self._model.max_model_len,
            weights_digest="none",
        )

    def execute_model(self, plan: StepPlan) -> None:
        """Writes all tokens of the step, then reads what each attends to.

        Raises:
            PlanError: the plan is wrong.
        """
        self._batch.apply(plan)
        self._batch.check_writers(plan)
        for entry in plan.scheduled:
            held = self._batch.held[entry.request_id]
            start, end = entry.num_computed_tokens, entry.num_computed_tokens + entry.num_tokens
            for store, table in zip(self._stores, held.tables, strict=True):
                store.write(table, start, held.digests[start:end])
        results = tuple(self._compute(entry) for entry in plan.scheduled)
        self._results.append((plan, StepResult(step=plan.step, requests=results)))

    def sample(self, plan: SamplePlan) -> StepResult:
        """The result of the oldest step.

        Raises:
            PlanError: it is another step, or none is in flight.
        """
        if not self._results or self._results[0][1].step != plan.step:
            raise PlanError(f"step {plan.step} is not the oldest in flight")
        step, result = self._results.popleft()
        if not plan.mask_rows:
            return result
        return masked(result, step, plan, self._batch, self._stores, self.next_token, self._model.vocab_size)

    def _compute(self, entry: ScheduledRequest) -> SampledRequest:
        held = self._batch.held[entry.request_id]
        start, end = entry.num_computed_tokens, entry.num_computed_tokens + entry.num_tokens
        for store, table in zip(self._stores, held.tables, strict=True):
            first = store.first_seen(start)
            store.verify(table, first, held.digests[first:end])
        held.num_computed = end
        error = _failure(held, end)
        params = held.data.params
        token_ids: list[int] = []
        if entry.sample:
            token_ids.append(self.next_token(held))
            held.append(token_ids[0])  # the placeholder of the next step
        return SampledRequest(
            request_id=entry.request_id,
            token_ids=[] if error else token_ids,
            epoch=entry.epoch,
            logprobs=None if params.logprobs is None else self._logprobs(token_ids, params.logprobs),
            prompt_logprobs=None if params.prompt_logprobs is None else self._prompt_logprobs(held, start, end),
            error=error,
            pooled=None if error else _pooled(held, end),
        )

    def next_token(self, held: HeldRequest) -> int:
        """What a request says next; a subclass may have a script instead."""
        num_outputs = len(held.token_ids) - held.data.num_prompt_tokens
        return next_token(held.digests[-1], num_outputs, held.data.params, self._model.vocab_size)

    def _logprobs(self, token_ids: list[int], best: int) -> list[TokenLogprobs]:
        return [logprobs(token, best, self._model.vocab_size) for token in token_ids]

    def _prompt_logprobs(self, held: HeldRequest, start: int, end: int) -> list[TokenLogprobs]:
        positions = held.token_ids[start + 1 : min(end + 1, held.data.num_prompt_tokens)]
        return self._logprobs(positions, held.data.params.prompt_logprobs or 0)


def _pooled(held: HeldRequest, end: int) -> bytes | None:
    pooling, computed = held.data.pooling, held.data.num_computed_tokens
    if pooling == "mean" and computed:
        raise PlanError(f"{held.data.request_id} averages states of which {computed} are taken from the cache")
    return pooled(held.digests, pooling) if pooling is not None and end == held.data.num_prompt_tokens else None


def _failure(held: HeldRequest, end: int) -> str | None:
    fail_at = ((held.data.params.extra_args or {}).get(NAME) or {}).get("fail_at")
    return f"asked to fail at token {fail_at}" if fail_at is not None and end >= fail_at else None
