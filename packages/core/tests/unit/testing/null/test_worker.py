from __future__ import annotations

import msgspec
import pytest

from kernelet.cache.sizing import plan_cache
from kernelet.config import CacheConfig
from kernelet.contracts.cache import CacheConfigPlan
from kernelet.contracts.executor import NewRequest, SamplePlan, ScheduledRequest, StepPlan, WorkerContext
from kernelet.contracts.offer import Settings
from kernelet.contracts.platform import Capabilities, PlatformChoice, PlatformOffer
from kernelet.contracts.plugins import Choice, Owned
from kernelet.contracts.sampling import SamplerParams
from kernelet.errors import EngineDeadError
from kernelet.testing.null.harness import null_core, null_engine_config, null_request
from kernelet.testing.null.plugin import NullPlugin
from kernelet.testing.null.store import PlanError
from kernelet.testing.null.tokens import generate
from kernelet.testing.null.worker import NullWorker

GREEDY = SamplerParams(seed=0, temperature=0.0)


class Plugins:
    """Selects the null platform."""

    def select(self, kind, name):
        assert (kind, name) == (PlatformOffer, "null")
        return Choice(chosen=Owned(offer=NullPlugin().kernelet_platforms()[0], plugin="platform-null"), reason="")

    def settings(self, plugin):
        assert plugin == "platform-null"
        return Settings(plugin=plugin, values={"memory_bytes": 4096})


@pytest.fixture
def worker():
    config = null_engine_config(max_model_len=64)
    capabilities = Capabilities(device_type="null", dtypes=("float32",), memory_bytes=1)
    made = NullWorker(
        WorkerContext(config=config, platform=PlatformChoice(name="null", capabilities=capabilities), plugins=Plugins())
    )
    made.init_device()
    made.load_model()
    cache: CacheConfigPlan = plan_cache(made.get_kv_cache_spec(), config, 1 << 20)
    made.initialize_from_config(cache)
    made.compile_or_warm_up_model()
    return made


def first_step(params=GREEDY, count=5, sample=True):
    new = NewRequest(
        request_id="r",
        token_ids=[1, 2, 3, 4, 5],
        num_prompt_tokens=5,
        num_computed_tokens=0,
        block_ids=([3],),
        params=params,
    )
    entry = ScheduledRequest(request_id="r", num_tokens=count, num_computed_tokens=0, sample=sample)
    return StepPlan(step=0, new=(new,), scheduled=(entry,))


def next_step(step, start, **fields):
    entry = ScheduledRequest(request_id="r", num_tokens=1, num_computed_tokens=start, **fields)
    return StepPlan(step=step, scheduled=(entry,))


def test_what_the_engine_asks_before_the_first_step(worker):
    assert worker.determine_available_memory() == 4096
    assert list(worker.get_kv_cache_spec()) == ["layers.0"]
    plan = worker.get_plan()
    assert (plan.platform, plan.max_model_len, plan.layers[0].name) == ("null", 64, "layers.0")


def test_tokens_are_filled_in_by_the_worker(worker):
    worker.execute_model(first_step())
    worker.execute_model(next_step(1, 5))  # before the first result was taken
    results = [worker.sample(SamplePlan(step=step)).requests[0] for step in (0, 1)]
    assert [result.token_ids for result in results] == [[t] for t in generate([1, 2, 3, 4, 5], GREEDY, 260, 2)]


def test_it_sleeps_when_nothing_is_held_and_wakes_up_empty(worker):
    worker.execute_model(first_step())
    worker.sample(SamplePlan(step=0))
    with pytest.raises(PlanError, match=r"requests are held: \['r'\]"):
        worker.sleep(1)
    worker.execute_model(StepPlan(step=1, finished=("r",)))
    worker.sample(SamplePlan(step=1))
    worker.sleep(1)
    worker.wake_up()
    new = first_step().new[0]
    warm = msgspec.structs.replace(new, num_computed_tokens=4)
    entry = ScheduledRequest(request_id="r", num_tokens=1, num_computed_tokens=4)
    with pytest.raises(PlanError):
        worker.execute_model(StepPlan(step=2, new=(warm,), scheduled=(entry,)))


def test_results_come_in_order(worker):
    with pytest.raises(PlanError, match="step 0 is not the oldest"):
        worker.sample(SamplePlan(step=0))
    worker.execute_model(first_step())
    with pytest.raises(PlanError, match="step 1 is not the oldest"):
        worker.sample(SamplePlan(step=1))


def test_a_prefix_that_nobody_computed(worker):
    plan = first_step()
    (new,), (entry,) = plan.new, plan.scheduled
    wrong = StepPlan(
        step=0,
        new=(
            NewRequest(
                request_id="r",
                token_ids=new.token_ids,
                num_prompt_tokens=5,
                num_computed_tokens=4,
                block_ids=new.block_ids,
                params=GREEDY,
            ),
        ),
        scheduled=(ScheduledRequest(request_id=entry.request_id, num_tokens=1, num_computed_tokens=4),),
    )
    with pytest.raises(PlanError, match="attention at position 0 reads block 3"):
        worker.execute_model(wrong)


def test_logprobs(worker):
    params = SamplerParams(seed=0, temperature=0.0, logprobs=1, prompt_logprobs=0)
    worker.execute_model(first_step(params, count=3, sample=False))
    part = worker.sample(SamplePlan(step=0)).requests[0]
    assert (part.token_ids, part.logprobs) == ([], [])
    assert [entry.token_ids for entry in part.prompt_logprobs] == [[2], [3], [4]]
    entry = ScheduledRequest(request_id="r", num_tokens=2, num_computed_tokens=3)
    worker.execute_model(StepPlan(step=1, scheduled=(entry,)))
    last = worker.sample(SamplePlan(step=1)).requests[0]
    assert [entry.token_ids for entry in last.prompt_logprobs] == [[5]]
    assert last.logprobs[0].token_ids[0] == last.token_ids[0]


def test_a_request_that_fails_by_itself(worker):
    worker.execute_model(first_step(SamplerParams(seed=0, extra_args={"platform-null": {"fail_at": 6}})))
    worker.execute_model(next_step(1, 5))
    worker.execute_model(next_step(2, 6))
    results = [worker.sample(SamplePlan(step=step)).requests[0] for step in range(3)]
    assert [result.error for result in results] == [None, *["asked to fail at token 6"] * 2]
    assert [len(result.token_ids) for result in results] == [1, 0, 0]


def drop_too_early(self, computed):
    return max(0, computed - self._window + 1 + self._block_size) // self._block_size


def key_of_one_block(parent, tokens, extras=()):
    return str(tokens).encode()


def reuse_without_evicting(self):
    if self._free:
        block = self._free.pop()
    else:
        block = next(block for block in range(1, self.num_blocks) if self._references[block] == 1)
    self._references[block] += 1
    return block


FAULTS = {
    "blocks are dropped too early": ("cache.groups.SlidingWindowGroupManager.first_kept_block", drop_too_early),
    "keys forget what came before": ("cache.keys.block_key", key_of_one_block),
    "a block is given out twice": ("cache.block_pool.BlockPool._take_one", reuse_without_evicting),
    "evicted blocks stay in the index": ("cache.prefix_index.PrefixIndex.remove", lambda self, block: None),
    "a sample is forgotten": ("scheduler.draft.samples", lambda request, count: False),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_found(fault, monkeypatch):
    target, replacement = FAULTS[fault]
    monkeypatch.setattr(f"kernelet.{target}", replacement)
    core, _ = busy_core()
    with pytest.raises(EngineDeadError):
        drain(core)


def test_the_same_without_a_fault():
    core, _ = busy_core()
    drain(core)
    assert sum(step.num_preempted for step in core.take_step_stats()) > 0


def busy_core():
    config = null_engine_config(
        layer_types=("full_attention", "sliding_attention"),
        window=20,
        max_model_len=64,
        cache=CacheConfig(block_size=4, num_blocks=25),
    )
    core, executor = null_core(config)
    for index in range(40):
        core.add_request(null_request(str(index), [index % 3] * 5 + [9] * (6 + index), 12))
    return core, executor


def drain(core):
    while core.has_unfinished():
        core.step()
