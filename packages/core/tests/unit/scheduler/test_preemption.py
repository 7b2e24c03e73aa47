from __future__ import annotations

from kernelet.cache.manager import CacheManager
from kernelet.config import CacheConfig
from kernelet.contracts.cache import CacheConfigPlan, CacheGroup, FullAttentionSpec
from kernelet.contracts.offer import Settings
from kernelet.request.status import RequestStatus
from kernelet.scheduler.draft import StepDraft
from kernelet.scheduler.policies import FCFSPolicy
from kernelet.scheduler.preemption import make_room, preempt, too_small
from kernelet.scheduler.requests import RequestSet
from kernelet.testing.null.harness import null_request

SPEC = FullAttentionSpec(block_size=4, page_bytes=64, num_kv_heads=1, head_size=8, dtype="float32")


def world(*tokens, num_blocks=7):
    plan = CacheConfigPlan(groups=(CacheGroup(spec=SPEC, layers=("a",), num_blocks=num_blocks),))
    cache, requests = CacheManager(plan, CacheConfig(), chunk=64), RequestSet(FCFSPolicy(Settings(plugin="core")))
    found = []
    for index, count in enumerate(tokens):
        one = requests.add(null_request(str(index), [index] * count, arrival_time=float(index)))
        cache.admit(one, cache.nothing)
        assert cache.allocate(one, count)
        one.num_computed_tokens = count
        cache.store(one, count)
        requests.start(one)
        found.append(one)
    return cache, requests, found


def test_free_blocks_first():
    cache, requests, (first, _) = world(8, 8)
    draft = StepDraft(0)
    assert len(make_room(first, 9, requests, cache, draft)[0]) == 1
    assert draft.preempted == []


def test_the_worst_gives_way():
    cache, requests, (first, second, third) = world(8, 8, 8)
    draft = StepDraft(0)
    third.num_placeholders = 1
    assert len(make_room(first, 12, requests, cache, draft)[0]) == 1
    assert draft.preempted == ["2"]
    assert draft.counters.num_preempted == 1
    assert (third.status, third.epoch, third.num_computed_tokens, third.num_placeholders) == (
        RequestStatus.PREEMPTED,
        1,
        0,
        0,
    )
    assert second.status is RequestStatus.RUNNING
    assert cache.lookup(third).num_tokens == 4, "what was not needed is still there"
    cache.check()


def test_as_many_as_it_takes():
    cache, requests, (first, *_) = world(8, 8, 8)
    draft = StepDraft(0)
    assert len(make_room(first, 20, requests, cache, draft)[0]) == 3
    assert draft.preempted == ["2", "1"]


def test_the_worst_preempts_itself():
    cache, requests, (first, second) = world(8, 16)
    draft = StepDraft(0)
    assert make_room(second, 17, requests, cache, draft) is None
    assert second.status is RequestStatus.PREEMPTED
    assert first.status is RequestStatus.RUNNING


def test_alone_it_is_not_preempted():
    cache, requests, (only,) = world(24)
    draft = StepDraft(0)
    assert make_room(only, 25, requests, cache, draft) is None
    assert only.status is RequestStatus.RUNNING
    assert draft.preempted == []
    only.token_ids.append(9)
    text = too_small(only, cache)
    assert "25 tokens" in text
    assert "7 of 6 blocks" in text
    assert "--num-blocks" in text


def test_preempt_frees():
    cache, requests, (only,) = world(24)
    preempt(only, requests, cache, StepDraft(0))
    assert cache.pools[0].usage == 0.0
