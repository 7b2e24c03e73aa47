from __future__ import annotations

import pytest

from kernelet.cache.manager import CacheManager
from kernelet.config import CacheConfig
from kernelet.contracts.cache import CacheConfigPlan, CacheGroup, FullAttentionSpec
from kernelet.request.request import Request
from kernelet.scheduler.admission import Admission
from kernelet.testing.null.harness import null_request

SPEC = FullAttentionSpec(block_size=4, page_bytes=64, num_kv_heads=1, head_size=8, dtype="float32")


def make(num_blocks=11):
    plan = CacheConfigPlan(groups=(CacheGroup(spec=SPEC, layers=("a",), num_blocks=num_blocks),))
    return CacheManager(plan, CacheConfig(), chunk=8)


def request(name, tokens):
    return Request(data=null_request(name, [int(name, 36)] * tokens), arrival_index=0)


def started(cache, name, tokens, computed):
    one = request(name, tokens)
    cache.admit(one, cache.nothing)
    assert cache.allocate(one, computed)
    one.num_computed_tokens = computed
    return one


def test_alone_it_may_take_everything():
    cache = make()
    assert Admission(cache.capacity, []).allows(request("a", 40), cache.nothing)
    assert not Admission(cache.capacity, []).allows(request("a", 41), cache.nothing)


@pytest.mark.parametrize("computed", [4, 8, 12])
def test_the_rest_of_running_prompts_is_kept_free(computed):
    cache = make()
    running = started(cache, "b", 12, computed)
    admission = Admission(cache.capacity, [running])
    # 10 blocks, 3 for the running one, and one to spare
    assert admission.allows(request("a", 24), cache.nothing)
    assert not admission.allows(request("a", 25), cache.nothing)


def test_those_let_in_count_too():
    cache = make()
    admission = Admission(cache.capacity, [])
    first = started(cache, "b", 12, 4)
    admission.reserve(first)
    assert admission.allows(request("a", 24), cache.nothing)
    assert not admission.allows(request("a", 25), cache.nothing)


def test_who_waits_with_blocks_has_its_room():
    cache = make()
    holder = started(cache, "b", 12, 4)
    admission = Admission(cache.capacity, [], [holder])
    assert admission.allows(request("a", 24), cache.nothing)
    assert not admission.allows(request("a", 25), cache.nothing)
    admission.drop(holder)
    assert admission.allows(request("a", 36), cache.nothing)


def test_who_waits_with_blocks_goes_on_beside_its_like():
    cache = make()
    first, second = started(cache, "b", 32, 16), started(cache, "c", 32, 16)
    admission = Admission(cache.capacity, [], [first])
    admission.reserve_waiting(second)
    assert not admission.resumes(first), "four blocks, of which two are free"
    cache.free(second)
    assert admission.resumes(first)
    assert not Admission(cache.capacity, [started(cache, "d", 12, 12)], [first]).resumes(first)
