"""A scheduler with a worker that answers by counting."""

from __future__ import annotations

from kernelet.cache.manager import CacheManager
from kernelet.config import CacheConfig, SchedulerConfig
from kernelet.contracts.cache import CacheConfigPlan, CacheGroup, FullAttentionSpec
from kernelet.contracts.executor import SampledRequest, StepResult
from kernelet.contracts.offer import Settings
from kernelet.request.status import FinishReason
from kernelet.scheduler.policies import FCFSPolicy
from kernelet.scheduler.scheduler import Scheduler
from kernelet.testing.null.harness import null_request

SPEC = FullAttentionSpec(block_size=4, page_bytes=64, num_kv_heads=1, head_size=8, dtype="float32")
ABORT = FinishReason.ABORT


class World:
    """A scheduler and a worker that answers 100, 101, ... by the number of tokens that a request has."""

    def __init__(self, num_blocks=101, seqs=64, tokens=2048, policy=FCFSPolicy, caching=True, plan=None):
        group = CacheGroup(spec=SPEC, layers=("a",), num_blocks=num_blocks)
        plan = plan or CacheConfigPlan(groups=(group,))
        self.cache = CacheManager(plan, CacheConfig(enable_prefix_caching=caching), chunk=tokens)
        self.now = 0.0
        self.scheduler = Scheduler(
            SchedulerConfig(max_num_seqs=seqs, max_num_batched_tokens=tokens),
            self.cache,
            max_model_len=400,
            policy=policy(Settings(plugin="core")),
            clock=lambda: self.now,
        )
        self.stats = []
        self.got = {}

    def add(self, name, prompt=4, max_tokens=4, **fields):
        tokens = [ord(name[0])] * prompt if isinstance(prompt, int) else prompt
        self.scheduler.add(null_request(name, tokens, max_tokens, **fields))

    def answer(self, plan, errors=()):
        def one(entry):
            token = [100 + entry.num_computed_tokens + entry.num_tokens] if entry.sample else []
            return SampledRequest(
                request_id=entry.request_id,
                token_ids=token,
                epoch=entry.epoch,
                error="broken" if entry.request_id in errors else None,
            )

        return StepResult(step=plan.step, requests=tuple(one(entry) for entry in plan.scheduled))

    def update(self, plan, errors=()):
        outputs, stats = self.scheduler.update(self.answer(plan, errors), self.now)
        self.stats.append(stats)
        for output in outputs:
            self.got.setdefault(output.request_id, []).extend(output.token_ids)
        self.cache.check()
        return outputs

    def step(self, errors=()):
        plan = self.scheduler.schedule()
        return plan, self.update(plan, errors)

    def finish(self, limit=500):
        plans = []
        while self.scheduler.has_work():
            plans.append(self.step()[0])
            assert len(plans) < limit
        return plans


def scheduled(plan):
    return [(entry.request_id, entry.num_tokens) for entry in plan.scheduled]
