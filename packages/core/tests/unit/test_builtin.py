from __future__ import annotations

import pytest

from kernelet import builtin
from kernelet.config import PluginsConfig
from kernelet.contracts.cache import CachePolicyOffer, CacheSpecOffer, EvictionPolicy, GroupManager
from kernelet.contracts.executor import Executor, ExecutorOffer, SchedulerOffer, SchedulingPolicy
from kernelet.contracts.model import WeightFormatOffer, WeightReader
from kernelet.contracts.stats import StatLogger, StatLoggerOffer
from kernelet.kernel import Kernel
from kernelet.kernel.kinds import KINDS

OFFERS = {
    (ExecutorOffer, "in-process"): Executor,
    (ExecutorOffer, "multiprocess"): Executor,
    (SchedulerOffer, "fcfs"): SchedulingPolicy,
    (SchedulerOffer, "priority"): SchedulingPolicy,
    (CacheSpecOffer, "full"): GroupManager,
    (CacheSpecOffer, "sliding_window"): GroupManager,
    (CacheSpecOffer, "mla"): GroupManager,
    (CachePolicyOffer, "lru"): EvictionPolicy,
    (StatLoggerOffer, "logging"): StatLogger,
    (WeightFormatOffer, "safetensors"): WeightReader,
}


@pytest.fixture
def kernel(tmp_path):
    return Kernel.boot(PluginsConfig(), search_path=[str(tmp_path)])


def test_what_the_core_offers(kernel):
    found = {(kind.offer, o.offer.name): o.plugin for kind in KINDS for o in kernel.offers(kind.offer)}
    assert found == dict.fromkeys(OFFERS, "core")


@pytest.mark.parametrize("kind, name", [key for key in OFFERS if key[0] is not WeightFormatOffer])
def test_targets_implement_their_contract(kernel, kind, name):
    owned = next(o for o in kernel.offers(kind) if o.offer.name == name)
    target = kernel.load(owned)
    assert issubclass(target, OFFERS[kind, name])
    assert not getattr(target, "__abstractmethods__", None)


def test_the_reader_implements_its_contract(kernel):
    pytest.importorskip("torch")
    (owned,) = kernel.offers(WeightFormatOffer)
    assert issubclass(kernel.load(owned), WeightReader)
    assert owned.offer.patterns == ("*.safetensors",)


@pytest.mark.parametrize(
    "kind, name", [(ExecutorOffer, "in-process"), (SchedulerOffer, "fcfs"), (CachePolicyOffer, "lru")]
)
def test_defaults(kernel, kind, name):
    assert kernel.select(kind).chosen.offer.name == name


def test_each_hook_gives_way_to_others():
    hooks = [value for name, value in vars(builtin).items() if name.startswith("kernelet_")]
    assert len(hooks) == 6
    assert all(hook.kernelet_impl["trylast"] for hook in hooks)


def test_kinds_are_those_of_the_specs(kernel):
    from kernelet.contracts.cache import FullAttentionSpec, MLAAttentionSpec, SlidingWindowSpec

    tags = {cls.__struct_config__.tag for cls in (FullAttentionSpec, MLAAttentionSpec, SlidingWindowSpec)}
    assert {o.offer.kind for o in kernel.offers(CacheSpecOffer)} == tags
