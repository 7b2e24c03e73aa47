from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelet.cache.events import AllBlocksCleared, BlockRemoved, BlockStored, CacheEvent
from kernelet.cache.keys import KeyChain
from kernelet.cache.manager import CacheManager
from kernelet.config import CacheConfig
from kernelet.contracts.cache import CacheConfigPlan, CacheGroup, FullAttentionSpec, SlidingWindowSpec
from kernelet.contracts.sampling import SamplerParams
from kernelet.request.request import EngineRequest, Request

BLOCK = 4


def spec(window=None, block_size=BLOCK):
    common = {"block_size": block_size, "page_bytes": 64, "num_kv_heads": 1, "head_size": 8, "dtype": "float32"}
    return FullAttentionSpec(**common) if window is None else SlidingWindowSpec(window=window, **common)


def make(*specs, num_blocks=21, **options):
    groups = tuple(CacheGroup(spec=s, layers=(str(i),), num_blocks=num_blocks) for i, s in enumerate(specs or [spec()]))
    caching = options.pop("caching", True)
    plan = CacheConfigPlan(groups=groups)
    return CacheManager(plan, CacheConfig(enable_prefix_caching=caching), chunk=64, **options)


def request(name, tokens, salt=""):
    data = EngineRequest(
        request_id=name, prompt_token_ids=list(tokens), params=SamplerParams(seed=0), max_tokens=4, cache_salt=salt
    )
    return Request(data=data, arrival_index=0)


def compute(cache, one, end=None):
    """Runs a request up to ``end`` tokens in one step."""
    end = end or one.num_tokens
    hit = cache.lookup(one)
    cache.admit(one, hit)
    one.num_computed_tokens = hit.num_tokens
    assert cache.allocate(one, end) is not None
    one.num_computed_tokens = end
    cache.store(one, end)
    cache.check()
    return hit


def test_all_groups_or_nothing():
    cache = make(spec(), spec(block_size=2), num_blocks=8)
    one = request("r", range(20))
    cache.admit(one, cache.nothing)
    assert cache.allocate(one, 14) is not None
    assert [pool.num_free for pool in cache.pools] == [3, 0]
    assert cache.allocate(one, 15) is None
    assert [pool.num_free for pool in cache.pools] == [3, 0]
    assert cache.allocate(one, 14) == ([], [])
    cache.check()
    cache.free(one)
    cache.free(one)
    assert [pool.num_free for pool in cache.pools] == [7, 7]


def test_hit_of_full_blocks_short_of_the_last_token():
    cache = make()
    compute(cache, request("first", range(12)))
    assert cache.lookup(request("r", range(12))).num_tokens == 8, "one token must be computed"
    assert cache.lookup(request("r", range(13))).num_tokens == 12
    assert cache.lookup(request("r", range(11))).num_tokens == 8
    assert cache.lookup(request("r", [0, 1, 2, 9])).num_tokens == 0
    assert cache.lookup(request("r", range(13)), limit=9).num_tokens == 8
    assert cache.lookup(request("r", range(13)), limit=0).num_tokens == 0
    assert cache.lookup(request("r", range(13), salt="s")).num_tokens == 0


def test_second_request_shares_the_blocks():
    cache = make()
    first, second = request("first", range(10)), request("second", [*range(8), 50, 51])
    compute(cache, first)
    assert compute(cache, second).num_tokens == 8
    assert cache.block_ids(second)[0][:2] == cache.block_ids(first)[0][:2]
    assert cache.block_ids(second)[0][2] != cache.block_ids(first)[0][2]
    cache.free(first)
    cache.check()
    assert cache.pools[0].usage == pytest.approx(3 / 20)


def test_only_what_is_computed_is_stored():
    cache = make()
    first = request("first", range(12))
    compute(cache, first, end=9)
    assert cache.lookup(request("r", range(12))).num_tokens == 8
    first.num_computed_tokens = 12
    assert cache.allocate(first, 12) is not None
    assert cache.lookup(request("r", range(20))).num_tokens == 8, "the step has not ended"
    cache.store(first, 12)
    assert cache.lookup(request("r", range(20))).num_tokens == 12


def test_generated_tokens_are_part_of_the_prefix():
    cache = make()
    first = request("first", range(6))
    compute(cache, first)
    first.token_ids += [70, 71]
    assert cache.allocate(first, 8) is not None
    cache.store(first, 8)
    assert cache.lookup(request("r", [*range(6), 70, 71, 72])).num_tokens == 8
    assert cache.lookup(request("r", [*range(6), 70, 99, 72])).num_tokens == 4


def test_equal_blocks_computed_at_once_are_entered_once():
    cache = make()
    first, second = request("first", range(8)), request("second", range(8))
    for one in (first, second):
        cache.admit(one, cache.nothing)
        cache.allocate(one, 8)
    cache.store(first, 8)
    cache.store(second, 8)
    cache.check()
    assert len(cache.pools[0].index) == 2
    cache.free(second)
    cache.free(first)
    cache.check()
    assert cache.lookup(request("r", range(9))).num_tokens == 8


def test_tail_is_evicted_before_the_head():
    cache = make(num_blocks=6)
    first = request("first", range(16))
    compute(cache, first)
    cache.forget(first)
    other = request("other", range(100, 110))
    compute(cache, other)  # takes the free block and two of the four
    assert cache.lookup(request("r", range(16))).num_tokens == 8


def test_sliding_blocks_return_while_the_request_runs():
    cache = make(spec(window=6))
    one = request("r", range(40))
    cache.admit(one, cache.nothing)
    for end in range(4, 41, 4):
        assert cache.allocate(one, end) is not None
        one.num_computed_tokens = end
        cache.store(one, end)
        cache.check()
        assert cache.pools[0].num_blocks - 1 - cache.pools[0].num_free <= 4
    table = cache.block_ids(one)[0]
    assert table[:7] == [0] * 7
    assert 0 not in table[8:]
    assert len(table) == 10


def test_sliding_hit_needs_the_window_only():
    cache = make(spec(window=5), num_blocks=6)
    one = request("first", range(24))
    cache.admit(one, cache.nothing)
    for end in range(4, 25, 4):
        assert cache.allocate(one, end) is not None
        one.num_computed_tokens = end
        cache.store(one, end)
    # 6 blocks in a pool of 5: the first ones are gone, the last ones are enough
    hit = cache.lookup(request("r", range(30)))
    assert hit.num_tokens == 24
    assert hit.block_ids[0][:5] == [0] * 5
    assert hit.block_ids[0][5] != 0
    second = request("second", range(30))
    assert compute(cache, second, end=27) == hit
    assert cache.lookup(request("r", range(10))).num_tokens == 0


def test_groups_agree_on_what_all_can_serve():
    cache = make(spec(), spec(window=5))
    first = request("first", range(20))
    compute(cache, first)
    sliding = cache.pools[1]
    # the block of positions 12 to 15 is lost in the sliding group: a hit may end before it or well after it
    block = cache.block_ids(first)[1][3]
    sliding.index.remove(block)
    assert cache.lookup(request("r", range(30))).num_tokens == 20
    assert cache.lookup(request("r", range(19))).num_tokens == 12
    cache.pools[0].index.remove(cache.block_ids(first)[0][4])
    assert cache.lookup(request("r", range(30))).num_tokens == 12


def test_groups_with_other_block_sizes():
    cache = make(spec(block_size=4), spec(block_size=6))
    compute(cache, request("first", range(30)))
    assert cache.lookup(request("r", range(30))).num_tokens == 24
    assert cache.lookup(request("r", range(24))).num_tokens == 12


def test_caching_off():
    cache = make(caching=False)
    compute(cache, request("first", range(12)))
    assert cache.lookup(request("r", range(12))) == cache.nothing
    assert len(cache.pools[0].index) == 0


def test_reset_keeps_running_requests_out_of_the_index():
    cache = make()
    first = request("first", range(10))
    compute(cache, first)
    cache.reset_prefix_cache()
    cache.check()
    assert cache.lookup(request("r", range(10))) == cache.nothing
    first.token_ids += range(10, 20)
    cache.allocate(first, 20)
    cache.store(first, 20)
    assert len(cache.pools[0].index) == 0
    cache.free(first)
    cache.check()
    assert cache.pools[0].usage == 0.0
    compute(cache, request("again", range(10)))
    assert cache.lookup(request("r", range(10))).num_tokens == 8


def test_events():
    cache = make(num_blocks=4, record_events=True)
    first = request("first", range(8))
    compute(cache, first)
    keys = KeyChain(first.data, BLOCK).upto(first.token_ids, 2)
    stored = BlockStored(group=0, keys=tuple(keys), parent=b"", token_ids=tuple(range(8)), block_size=BLOCK)
    assert cache.take_events() == [stored], "blocks that follow each other are one event"
    cache.forget(first)
    compute(cache, request("other", range(100, 108)))
    assert BlockRemoved(group=0, key=keys[1]) in cache.take_events()
    cache.reset_prefix_cache()
    assert cache.take_events() == [AllBlocksCleared()]
    silent = make()
    silent.reset_prefix_cache()
    assert silent.take_events() == []


def test_events_name_the_block_before_and_what_else_decides():
    cache = make(num_blocks=8, record_events=True)
    compute(cache, request("short", range(4), salt="s"))
    (head,) = cache.take_events()
    assert head.extras == ((("salt", ("s",)),),)
    compute(cache, request("long", range(12), salt="s"))
    (tail,) = cache.take_events()
    assert tail.parent == head.keys[0], "the first block is there already, and is not told again"
    assert (tail.token_ids, tail.extras) == (tuple(range(4, 12)), ())


def test_a_listener_knows_what_the_index_has():
    """Whatever requests come and go, the events alone give the index of each group."""
    cache = make(num_blocks=7, record_events=True)
    known: set[bytes] = set()

    def hear(events: list[CacheEvent]) -> None:
        for event in events:
            match event:
                case BlockStored(keys=keys):
                    assert not known & set(keys)
                    known.update(keys)
                case BlockRemoved(key=key):
                    known.remove(key)
                case _:
                    known.clear()

    for seed in range(60):
        start = seed * 7 % 5
        one = request(f"r{seed}", [*range(start), *range(50, 50 + 4 * (seed % 4) + 3)])
        compute(cache, one)
        cache.forget(one)
        hear(cache.take_events())
        if seed % 25 == 24:
            cache.reset_prefix_cache()
            hear(cache.take_events())
        assert known == set(cache.pools[0].index._blocks)
    assert known


def test_check_finds_lost_references():
    cache = make()
    one = request("r", range(8))
    compute(cache, one)
    cache.pools[0].touch([cache.block_ids(one)[0][0]])
    with pytest.raises(AssertionError, match="2 references, 1 holders"):
        cache.check()


@given(
    windows=st.lists(st.one_of(st.none(), st.integers(1, 10)), min_size=1, max_size=3),
    histories=st.lists(st.lists(st.integers(0, 1), min_size=1, max_size=20), min_size=1, max_size=6),
    num_blocks=st.integers(8, 30),
)
def test_a_hit_is_always_of_equal_tokens(windows, histories, num_blocks):
    """Remembers for every block which tokens, and which before them, were last written; a hit must name such blocks."""
    cache = make(*[spec(window) for window in windows], num_blocks=num_blocks)
    content = [{} for _ in windows]
    for index, tokens in enumerate(histories):
        one = request(f"r{index}", tokens)
        hit = cache.lookup(one)
        assert hit.num_tokens % BLOCK == 0
        assert hit.num_tokens < len(tokens)
        for group, (blocks, window) in enumerate(zip(hit.block_ids, windows, strict=True)):
            first = 0 if window is None else max(0, hit.num_tokens - window + 1) // BLOCK
            assert len(blocks) == hit.num_tokens // BLOCK
            for position, block in enumerate(blocks):
                if position < first:
                    assert block == 0
                else:
                    assert content[group][block] == tokens[: (position + 1) * BLOCK]
        compute(cache, one)
        for group, blocks in enumerate(cache.block_ids(one)):
            content[group].update({b: tokens[: (i + 1) * BLOCK] for i, b in enumerate(blocks) if b})
        cache.forget(one)
        cache.check()


def test_blocks_that_somebody_holds_are_not_free():
    cache = make(caching=False)
    one = request("r", range(10))
    compute(cache, one)
    first, second = cache.hold(one), cache.hold(one)
    cache.forget(one)
    cache.check()
    assert cache.pools[0].num_free == 17
    cache.release(second)
    assert cache.pools[0].num_free == 17
    cache.release(first)
    cache.check()
    assert cache.pools[0].num_free == 20
    with pytest.raises(KeyError):
        cache.release(first)


def test_block_lists_are_the_same_object_until_they_change():
    cache = make()
    one = request("r", range(20))
    assert (cache.block_lists(one), cache.holds(one)) == (((),), False)
    cache.admit(one, cache.nothing)
    cache.allocate(one, 8)
    before = cache.block_lists(one)
    assert (before, cache.holds(one)) == ((tuple(cache.block_ids(one)[0]),), True)
    cache.allocate(one, 8)
    assert cache.block_lists(one) is before
    cache.allocate(one, 9)
    assert cache.block_lists(one) == (tuple(cache.block_ids(one)[0]),) != before
    cache.free(one)
    assert cache.block_lists(one) == ((),)


def test_tokens_that_somebody_brings_need_blocks_as_far_as_they_are_seen():
    cache = make(spec(), spec(window=8))
    one = request("r", range(40))
    cache.admit(one, cache.nothing)
    one.num_computed_tokens = 30
    cache.allocate(one, 30)
    full, sliding = cache.block_lists(one)
    assert (len(full), len(sliding), sliding.count(0)) == (8, 8, 5)
    cache.check()
    assert (cache.reaches(one, 30), cache.reaches(one, 27), cache.reaches(one, 26)) == (True, True, False)
    cache.store(one, 30)
    cache.check()
    cache.forget(one)
    cache.check()
    assert [pool.num_free for pool in cache.pools] == [20, 20]
