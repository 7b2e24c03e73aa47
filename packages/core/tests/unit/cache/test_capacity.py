from __future__ import annotations

from kernelet.cache.manager import CacheManager
from kernelet.cache.tables import PrefixHit
from kernelet.config import CacheConfig
from kernelet.contracts.cache import CacheConfigPlan, CacheGroup, FullAttentionSpec, SlidingWindowSpec
from kernelet.contracts.sampling import SamplerParams
from kernelet.request.request import EngineRequest, Request

COMMON = {"block_size": 4, "page_bytes": 64, "num_kv_heads": 1, "head_size": 8, "dtype": "float32"}


def make(num_blocks=11, chunk=8):
    groups = (
        CacheGroup(spec=FullAttentionSpec(**COMMON), layers=("a",), num_blocks=num_blocks),
        CacheGroup(spec=SlidingWindowSpec(window=5, **COMMON), layers=("b",), num_blocks=num_blocks),
    )
    return CacheManager(CacheConfigPlan(groups=groups), CacheConfig(), chunk=chunk)


def request(name, tokens):
    data = EngineRequest(request_id=name, prompt_token_ids=list(tokens), params=SamplerParams(seed=0), max_tokens=4)
    return Request(data=data, arrival_index=0)


def test_demand_of_a_new_request():
    cache = make()
    # 30 tokens: 8 full blocks; a chunk of 8 with a window of 5 touches 12 tokens, at most 4 blocks
    assert cache.capacity.demand(request("r", range(30)), cache.nothing) == [8, 4]
    assert cache.capacity.demand(request("r", range(3)), cache.nothing) == [1, 1]


def test_shared_blocks_are_no_demand_but_cached_ones_are():
    cache = make()
    first = request("first", range(16))
    cache.admit(first, cache.nothing)
    cache.allocate(first, 16)
    cache.store(first, 16)
    second = request("second", [*range(12), 99, 98])
    hit = cache.lookup(second)
    assert hit.num_tokens == 12
    assert cache.capacity.demand(second, hit)[0] == 1
    cache.free(first)
    assert cache.capacity.demand(second, hit)[0] == 4


def test_outstanding_shrinks_to_nothing():
    cache = make()
    running = request("r", range(30))
    cache.admit(running, cache.nothing)
    seen = []
    for end in (8, 16, 24, 30):
        cache.allocate(running, end)
        running.num_computed_tokens = end
        seen.append(cache.capacity.outstanding(running))
    assert seen == [[6, 2], [4, 1], [2, 1], [0, 0]]


def test_has_free_and_usage():
    cache = make()
    assert cache.capacity.has_free([10, 10])
    assert not cache.capacity.has_free([10, 11])
    running = request("r", range(20))
    cache.admit(running, cache.nothing)
    cache.allocate(running, 20)
    assert cache.capacity.usage == 0.5
    assert cache.capacity.has_free([5, 5])
    assert not cache.capacity.has_free([6, 0])
    assert cache.capacity.describe([6, 0]) == "group 0: 6 of 10 blocks; group 1: 0 of 10 blocks"


def test_a_hit_is_plain_data():
    assert make().nothing == PrefixHit(0, ([], []))
