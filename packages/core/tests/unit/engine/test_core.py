from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import msgspec
import pytest
from kv_world import IDENTITY, Side

from kernelet.cache.events import AllBlocksCleared
from kernelet.cache.eviction import LRUPolicy
from kernelet.cache.groups import FullGroupManager, SlidingWindowGroupManager
from kernelet.config import CacheConfig, SchedulerConfig
from kernelet.contracts.cache import CachePolicyOffer, CacheSpecOffer
from kernelet.contracts.executor import SchedulerOffer
from kernelet.contracts.kv import LATER
from kernelet.contracts.kv_steps import KVReport, encode
from kernelet.contracts.offer import Settings
from kernelet.contracts.plugins import Choice, Owned
from kernelet.contracts.sampling import SamplerParams
from kernelet.engine.core import POLL_SECONDS, EngineCore
from kernelet.engine.kv.making import MadeConnectors
from kernelet.errors import EngineDeadError, PluginError, PromptError
from kernelet.request.status import FinishReason
from kernelet.scheduler.kv.connectors import Connector
from kernelet.scheduler.kv.remote import KVSetup
from kernelet.scheduler.policies import PriorityPolicy
from kernelet.testing.null.harness import null_core, null_engine_config, null_request
from kernelet.testing.null.tokens import generate

GREEDY = SamplerParams(seed=0, temperature=0.0)


def make(depth=1, num_blocks=101, seqs=64, **options):
    config = null_engine_config(
        max_model_len=256,
        cache=CacheConfig(block_size=4, num_blocks=num_blocks),
        scheduler=SchedulerConfig(depth=depth, max_num_seqs=seqs, max_num_batched_tokens=64),
    )
    return null_core(config, **options)


def drain(core):
    got = {}
    while core.has_unfinished():
        for output in core.step():
            got.setdefault(output.request_id, []).extend(output.token_ids)
    return got


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_tokens_statistics_and_records(depth):
    core, executor = make(depth)
    prompts = {f"r{index}": [index] * (5 + index) for index in range(5)}
    for name, prompt in prompts.items():
        core.add_request(null_request(name, prompt, 10))
    got = drain(core)
    assert got == {name: generate(prompt, GREEDY, 260, 10) for name, prompt in prompts.items()}
    stats = core.take_step_stats()
    assert core.take_step_stats() == []
    assert core.stats() == stats[-1]
    assert [step.step for step in stats] == [plan.step for plan in executor.plans]
    assert sum(step.num_decode_tokens for step in stats) == 50
    assert {record.request_id for record in core.take_finished()} == set(prompts)
    assert core.take_finished() == []
    assert executor.plans[-1].finished, "workers are told at the end"


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_depth_is_the_number_of_steps_in_flight(depth):
    core, executor = make(depth)
    core.add_request(null_request("r", [1], 10))
    outputs = core.step()
    assert len(executor.plans) == depth
    assert [len(output.token_ids) for output in outputs] == [1]


def test_idle_engine():
    core, _ = make()
    assert not core.has_unfinished()
    assert core.step() == []
    assert core.take_step_stats() == []


def test_refused_request():
    core, _ = make()
    with pytest.raises(PromptError):
        core.add_request(null_request("r", []))
    assert not core.has_unfinished()


def test_failing_request_hurts_nobody_else():
    core, _ = make(depth=2)
    bad = SamplerParams(seed=0, temperature=0.0, extra_args={"platform-null": {"fail_at": 7}})
    core.add_request(null_request("good", [1] * 4, 9))
    core.add_request(null_request("bad", [2] * 4, 9, params=bad))
    outputs = []
    while core.has_unfinished():
        outputs += core.step()
    (failed,) = [output for output in outputs if output.error]
    assert (failed.request_id, failed.error) == ("bad", "asked to fail at token 7")
    assert sum(len(output.token_ids) for output in outputs if output.request_id == "good") == 9
    assert sum(len(output.token_ids) for output in outputs if output.request_id == "bad") == 3


def test_request_too_large_for_the_pool_does_not_hang():
    core, _ = make()
    for pool in core.cache.pools:
        pool.allocate(95)  # as if the pool were smaller than it was checked to be
    core.add_request(null_request("large", [1] * 30, 4))
    core.add_request(null_request("small", [2] * 4, 4))
    outputs = core.step()
    assert "too small" in next(output.error for output in outputs if output.request_id == "large")
    assert len(drain(core)["small"]) == 3


def test_abort_and_stop():
    core, _ = make()
    core.add_request(null_request("a", [1], 9))
    core.add_request(null_request("b", [2], 9))
    core.step()
    (output,) = core.abort(["a"], FinishReason.STOP)
    assert output.finish_reason == "stop"
    assert core.abort(["a", "nobody"]) == []
    assert core.abort(["b"])[0].finish_reason == "abort"
    assert [(r.request_id, r.finish_reason, r.num_output_tokens) for r in core.take_finished()] == [
        ("a", "stop", 1),
        ("b", "abort", 1),
    ]
    assert core.has_unfinished(), "the worker does not know yet"
    assert core.step() == []
    assert not core.has_unfinished()
    assert core.cache.capacity.usage == 0.0


@pytest.mark.parametrize("method", ["execute_model", "sample"])
def test_dead_executor_fails_everything(method, monkeypatch):
    core, executor = make(depth=2, seqs=1)
    core.add_request(null_request("a", [1], 9))
    core.add_request(null_request("b", [1], 9))
    core.step()

    def broken(plan):
        raise OSError("no such device")

    monkeypatch.setattr(executor, method, broken)
    with pytest.raises(EngineDeadError, match="OSError: no such device"):
        core.step()
    assert {(r.request_id, r.finish_reason) for r in core.take_finished()} == {("a", "error"), ("b", "error")}
    assert not core.has_unfinished()
    for call in (core.step, lambda: core.add_request(null_request("c", [1]))):
        with pytest.raises(EngineDeadError, match="no such device"):
            call()
    assert core.abort(["a"]) == []


def test_a_hang_is_an_error(monkeypatch):
    core, _ = make()
    core.add_request(null_request("a", [1], 9))
    monkeypatch.setattr(core._scheduler, "schedule", lambda: None)
    with pytest.raises(EngineDeadError, match="schedules none of them"):
        core.step()


def test_prefix_cache_is_reset():
    core, _ = make(record_cache_events=True)

    def cached(name):
        core.add_request(null_request(name, [1] * 20, 1))
        drain(core)
        return core.take_finished()[0].num_cached_tokens

    assert [cached("a"), cached("b")] == [0, 16]
    assert sum(len(event.keys) for event in core.take_cache_events()) == 5
    core.reset_prefix_cache()
    assert core.take_cache_events() == [AllBlocksCleared()]
    assert cached("c") == 0


@dataclass
class Plugins:
    """The policies that the core offers, and nothing else."""

    asked: list[Any]

    offered: ClassVar = {
        SchedulerOffer: (SchedulerOffer(name="priority", target="a:b"), PriorityPolicy),
        CachePolicyOffer: (CachePolicyOffer(name="lru", target="a:c"), LRUPolicy),
    }
    kinds = (
        (CacheSpecOffer(name="full", target="a:d", kind="full"), FullGroupManager),
        (CacheSpecOffer(name="window", target="a:e", kind="sliding_window"), SlidingWindowGroupManager),
    )

    def select(self, kind, name=None):
        self.asked.append((kind, name))
        return Choice(chosen=Owned(offer=self.offered[kind][0], plugin="core"), reason="")

    def offers(self, kind):
        return [Owned(offer=offer, plugin="core") for offer, _ in self.kinds]

    def load(self, owned, target=None):
        return dict((*self.offered.values(), *self.kinds))[owned.offer]

    def settings(self, plugin):
        return Settings(plugin=plugin)


def test_policies_of_plugins():
    config = null_engine_config(
        max_model_len=64,
        cache=CacheConfig(eviction_policy="lru"),
        scheduler=SchedulerConfig(policy="priority", max_num_seqs=1),
    )
    _, executor = null_core(config)
    plugins = Plugins([])
    core = EngineCore.from_plugins(config, executor, executor.start().cache, plugins)
    assert plugins.asked == [(SchedulerOffer, "priority"), (CachePolicyOffer, "lru")]
    core.add_request(null_request("late", [1], 1, priority=2))
    core.add_request(null_request("urgent", [1], 1, priority=1))
    assert [output.request_id for output in core.step()] == ["urgent"]


def with_connector(side, **options):
    """A core whose executor knows no connector: it tells nothing of any transfer."""
    core, executor = make(**options)
    told = {"c0": [encode(KVReport())]}
    sample = executor.sample
    executor.sample = lambda plan: msgspec.structs.replace(sample(plan), extensions=told)
    setup = KVSetup(connectors=[Connector(name="c0", side=side)], identity=IDENTITY)
    core.connect(MadeConnectors(setup=setup, sides=[("p", side)]))
    return core, executor


def test_steps_that_only_ask_go_out_slowly():
    side, pauses = Side(), []
    side.answers["a"] = LATER
    core, _ = with_connector(side, pause=pauses.append)
    core.add_request(null_request("a", [1, 2, 3], 2))
    core.step()
    assert pauses == [], "the first goes out at once"
    core.step()
    core.step()
    assert pauses == [POLL_SECONDS] * 2
    side.answers.clear()
    core.step()
    assert len(pauses) == 2, "something is computed"
    drain(core)
    assert core.take_finished()[0].num_output_tokens == 2


def test_connectors_come_and_go():
    side = Side()
    core, _ = with_connector(side)
    assert core.selected == [("p", side)]
    core.reset_prefix_cache()
    assert side.calls == []
    core.reset_prefix_cache(reset_connector=True)
    core.disconnect()
    assert (side.calls, core.selected) == ([("reset",), ("shutdown",)], [])
    with pytest.raises(PluginError, match=r"no KV connector runs \(--kv-connector\)"):
        core.reset_prefix_cache(reset_connector=True)
    core.add_request(null_request("a", [1, 2, 3], 2))
    drain(core)
    assert not side.did("new")


def test_an_engine_that_waits_for_a_connector_is_not_done():
    side = Side()
    side.pending = True
    core, _ = with_connector(side, pause=lambda seconds: None)
    assert core.has_unfinished() and core.can_step()
    core.step()
    side.pending = False
    assert not core.has_unfinished()
    assert not core.can_step()
