"""Workers of the tiny model, and a driver that writes plans for them by hand."""

from __future__ import annotations

import itertools
import math
from types import SimpleNamespace

import numpy as np
from worker_doubles import BLOCK, POISON, VOCAB, TinyPlugins, engine_config

from kernelet.cache.sizing import plan_cache
from kernelet.contracts.executor import NewRequest, SamplePlan, ScheduledRequest, StepPlan, WorkerContext
from kernelet.contracts.platform import (
    Capabilities,
    PlatformChoice,
)
from kernelet.contracts.sampling import SamplerParams
from kernelet.worker.worker import ModelWorker


def worker_context(folder, plugins=None, features=frozenset(), **values):
    """What a worker is made from, its configuration and further parts."""
    (folder / "weights.tiny").touch()
    config = engine_config(folder, **values)
    capabilities = Capabilities(device_type="plain", dtypes=("float64",), memory_bytes=1 << 30, features=features)
    platform = PlatformChoice(name="plain", capabilities=capabilities)
    return WorkerContext(config=config, platform=platform, plugins=plugins or TinyPlugins())


def make_worker(folder, plugins=None, features=frozenset(), **values):
    """A worker that is ready for steps, built in the contract's order."""
    context = worker_context(folder, plugins, features, **values)
    worker, config = ModelWorker(context), context.config
    worker.init_device()
    worker.load_model()
    plan = plan_cache(worker.get_kv_cache_spec(), config, worker.determine_available_memory())
    worker.initialize_from_config(plan)
    worker.compile_or_warm_up_model()
    return worker


class Driver:
    """Writes plans by hand: gives out blocks, keeps count, and collects what comes back."""

    def __init__(self, worker):
        self.worker = worker
        self.requests = {}
        self.step = 0
        self.free = [itertools.count(2), itertools.count(2)]

    def add(self, name, prompt, pooling=None, **params):
        values = {"seed": 11, "temperature": 0.0, **params}
        self.requests[name] = SimpleNamespace(
            params=SamplerParams(**values), prompt=list(prompt), tokens=list(prompt), computed=0, blocks=[0, 0],
            epoch=0, known=False, pending=0, error=None, logprobs=[], prompt_logprobs=[], pooling=pooling, pooled=None,
        )  # fmt: skip

    def plan(self, counts, finished=(), preempted=(), copies=()):
        """The next step's plan; ``counts`` gives tokens by request, None for all that are left."""
        new, scheduled = [], []
        for name in preempted:
            request = self.requests[name]
            request.known, request.computed, request.blocks = False, 0, [0, 0]
            request.epoch += 1
        for name, count in counts.items():
            request = self.requests[name]
            total = len(request.tokens) + request.pending
            count = total - request.computed if count is None else count
            end = request.computed + count
            added = tuple(
                [next(free) for _ in range(-(-end // BLOCK) - held)]
                for free, held in zip(self.free, request.blocks, strict=True)
            )
            request.blocks = [-(-end // BLOCK)] * 2
            if not request.known:
                new.append(
                    NewRequest(
                        request_id=name,
                        token_ids=list(request.tokens),
                        num_prompt_tokens=len(request.prompt),
                        num_computed_tokens=0,
                        block_ids=added,
                        params=request.params,
                        epoch=request.epoch,
                        pooling=request.pooling,
                    )
                )
            sample = end == total and request.pooling is None
            scheduled.append(
                ScheduledRequest(
                    request_id=name,
                    num_tokens=count,
                    num_computed_tokens=request.computed,
                    new_block_ids=added if request.known else (),
                    sample=sample,
                    epoch=request.epoch,
                )
            )
            request.known, request.computed = True, end
            request.pending += sample
        self.step += 1
        return StepPlan(
            step=self.step, new=tuple(new), scheduled=tuple(scheduled), finished=tuple(finished),
            preempted=tuple(preempted), copies=tuple(copies),
        )  # fmt: skip

    def take(self, plan, masks=None):
        result = self.worker.sample(SamplePlan(step=plan.step, mask_rows=masks or {}))
        assert result.step == plan.step
        assert [entry.request_id for entry in result.requests] == [entry.request_id for entry in plan.scheduled]
        for sampled, entry in zip(result.requests, plan.scheduled, strict=True):
            request = self.requests[sampled.request_id]
            assert sampled.epoch == entry.epoch
            request.error = request.error or sampled.error
            if sampled.error is None:
                assert len(sampled.token_ids) == int(entry.sample)
            request.tokens += sampled.token_ids
            request.pending -= entry.sample
            request.logprobs += sampled.logprobs or []
            request.prompt_logprobs += sampled.prompt_logprobs or []
            request.pooled = sampled.pooled or request.pooled
        return result

    def run(self, counts, masks=None, **values):
        """One step from plan to result."""
        plan = self.plan(counts, **values)
        self.worker.execute_model(plan)
        return self.take(plan, masks)

    def output(self, name):
        request = self.requests[name]
        return request.tokens[len(request.prompt) :]


def prompt_of(seed, length):
    """Random token ids without the poisoned one."""
    ids = np.random.default_rng(seed).integers(0, VOCAB, length)
    return [int(i) if i != POISON else 0 for i in ids]


def log_softmax(row):
    """Of a list of floats, by the definition."""
    top = max(row)
    total = sum(math.exp(x - top) for x in row)
    return [x - top - math.log(total) for x in row]
