"""A worker of any platform, driven by hand through its whole life."""

from __future__ import annotations

from dataclasses import dataclass, field

from kernelet.cache.sizing import plan_cache
from kernelet.contracts.cache import CacheConfigPlan, CacheSpec
from kernelet.contracts.executor import (
    EnginePlan,
    NewRequest,
    SamplePlan,
    ScheduledRequest,
    StepPlan,
    StepResult,
    Worker,
    WorkerContext,
)
from kernelet.contracts.platform import PlatformOffer
from kernelet.contracts.sampling import SamplerParams
from kernelet.engine.bootstrap import Configured
from kernelet.testing.verdict import check

GREEDY = SamplerParams(seed=0, temperature=0.0)


@dataclass
class Held:
    """A request as the driver knows it: tokens that are known, placeholders after them, blocks of each group."""

    token_ids: list[int]
    prompt: int
    computed: int = 0
    pending: int = 0
    blocks: int = 0
    known: bool = False
    output: list[int] = field(default_factory=list)


class WorkerRun:
    """Makes a worker and calls its methods in the order of the contract; then writes plans.

    Attributes:
        worker: Ready for steps.
        plan: How its layers are computed.
        cache: Its groups.
    """

    def __init__(self, configured: Configured) -> None:
        kernel = self._kernel = configured.kernel
        self._config = configured.config
        owned = kernel.select(PlatformOffer, configured.platform.name).chosen
        worker = kernel.load(owned, owned.offer.worker)(
            WorkerContext(config=configured.config, platform=configured.platform, plugins=kernel)
        )
        check(isinstance(worker, Worker), f"{owned.offer.worker} is no Worker")
        self.worker: Worker = worker
        worker.init_device()
        worker.load_model()
        specs = worker.get_kv_cache_spec()
        check(
            specs and all(isinstance(spec, CacheSpec) for spec in specs.values()),
            "get_kv_cache_spec() must say of each layer that keeps something what it keeps",
        )
        check(
            all(spec.block_size == configured.config.cache.block_size for spec in specs.values()),
            "get_kv_cache_spec() must take the block size of the configuration",
        )
        available = worker.determine_available_memory()
        check(type(available) is int and available > 0, "determine_available_memory() must be the bytes that are left")
        self.cache: CacheConfigPlan = plan_cache(specs, configured.config, available)
        worker.initialize_from_config(self.cache)
        worker.compile_or_warm_up_model()
        self.plan: EnginePlan = worker.get_plan()
        self._requests: dict[str, Held] = {}
        self._next_block = [1] * len(self.cache.groups)
        self._step = 0

    def add(self, name: str, prompt: list[int]) -> None:
        """A request, greedy."""
        self._requests[name] = Held(list(prompt), len(prompt))

    def execute(self, **counts: int) -> StepPlan:
        """Starts a step that computes so many tokens of each request; 0: all that are left."""
        new, scheduled = [], []
        for name, count in counts.items():
            held = self._requests[name]
            total = len(held.token_ids) + held.pending
            end = held.computed + (count or total - held.computed)
            added = self._take_blocks(held, end)
            if not held.known:
                new.append(self._new(name, held, added))
            scheduled.append(
                ScheduledRequest(
                    request_id=name,
                    num_tokens=end - held.computed,
                    num_computed_tokens=held.computed,
                    new_block_ids=added if held.known else (),
                    sample=end == total,
                )
            )
            held.known, held.computed = True, end
            held.pending += end == total
        return self._start(StepPlan(step=self._step + 1, new=tuple(new), scheduled=tuple(scheduled)))

    def finish(self) -> StepPlan:
        """Starts a step that computes nothing and releases all requests."""
        names = tuple(self._requests)
        self._requests.clear()
        return self._start(StepPlan(step=self._step + 1, finished=names))

    def sample(self, plan: StepPlan) -> StepResult:
        """Finishes a step and takes up its tokens."""
        result = self.worker.sample(SamplePlan(step=plan.step))
        check(
            type(result) is StepResult and result.step == plan.step,
            "sample() must return the StepResult of the step that it finishes",
        )
        check(
            [one.request_id for one in result.requests] == [one.request_id for one in plan.scheduled],
            "a StepResult must have one entry for each scheduled request, in the plan's order",
        )
        for one, entry in zip(result.requests, plan.scheduled, strict=True):
            check(one.error is None, f"a request that is in order must not fail, but: {one.error}")
            check(
                len(one.token_ids) == int(entry.sample),
                "a StepResult must have one token where the plan samples, and none inside a prompt",
            )
            held = self._requests[one.request_id]
            held.output += one.token_ids
            held.token_ids += one.token_ids
            held.pending -= len(one.token_ids)
        return result

    def run(self, **counts: int) -> None:
        """A step from plan to result."""
        self.sample(self.execute(**counts))

    def output(self, name: str) -> list[int]:
        """Tokens that a request has generated."""
        return list(self._requests[name].output)

    def close(self) -> None:
        """Ends the worker."""
        self.worker.shutdown()

    def _start(self, plan: StepPlan) -> StepPlan:
        self._step = plan.step
        check(
            self.worker.execute_model(plan) is None,
            "execute_model() must return nothing: results come with sample()",
        )
        return plan

    def _new(self, name: str, held: Held, blocks: tuple[list[int], ...]) -> NewRequest:
        return NewRequest(
            request_id=name,
            token_ids=list(held.token_ids),
            num_prompt_tokens=held.prompt,
            num_computed_tokens=0,
            block_ids=blocks,
            params=GREEDY,
        )

    def _take_blocks(self, held: Held, end: int) -> tuple[list[int], ...]:
        needed = -(-end // self._config.cache.block_size)
        more, held.blocks = needed - held.blocks, needed
        taken = tuple(list(range(first, first + more)) for first in self._next_block)
        self._next_block = [first + more for first in self._next_block]
        return taken
