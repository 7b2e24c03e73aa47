from __future__ import annotations

import pytest
from kv_world import TWO_GROUPS, KVWorld, Side, told
from scheduler_world import scheduled

from kernelet.contracts.kv import LATER, Ticket
from kernelet.contracts.sampling import SamplerParams

SYNC = Ticket(num_tokens=6, load_async=False)


@pytest.fixture
def world():
    return KVWorld()


def plain(*names, prompt=12):
    """What comes out without a connector."""
    world = KVWorld(Side(role="producer"))
    for name in names:
        world.add(name, prompt)
    world.finish()
    return world.got


def test_an_async_load_waits_and_the_rest_is_computed(world):
    world.side.answers["a"] = 7
    world.add("a", 12)
    plan, _ = world.step()
    assert (scheduled(plan), told(plan).loads, told(plan).sync_loads) == ([], (1,), ())
    assert world.side.did("load") == [("load", "a", 1, 0, 7)]
    assert [len(blocks) for blocks in world.side.blocks] == [2]
    assert world.stats[-1].num_waiting_remote == 1
    assert scheduled(world.step()[0]) == []
    world.tell({1: 7})
    world.step()
    plan, _ = world.step()
    assert scheduled(plan) == [("a", 5)]
    assert plan.new[0].num_computed_tokens == 7
    world.finish()
    assert world.got == plain("a")
    assert world.outputs["a"].num_cached_tokens == 7
    assert (sum(s.external_queries for s in world.stats), sum(s.external_hits for s in world.stats)) == (12, 7)
    assert world.side.did("abort") == world.side.did("cancel") == []


def test_the_last_token_is_computed_whatever_was_promised(world):
    world.side.answers["a"] = 1000
    world.add("a", 12)
    world.step()
    assert world.side.did("load") == [("load", "a", 1, 0, 11)]
    world.tell({1: 11})
    world.step()
    assert scheduled(world.step()[0]) == [("a", 1)]


def test_what_came_is_in_the_prefix_index_once_it_is_confirmed(world):
    world.side.answers["a"] = 9
    world.add("a", 12)
    world.step()
    assert len(world.cache.pools[0].index) == 0
    world.tell({1: 9})
    world.step()
    assert len(world.cache.pools[0].index) == 2
    world.finish()


def test_a_local_hit_comes_first(world):
    world.add("a", 12, max_tokens=1)
    world.finish()
    world.side.answers["ab"] = 3
    world.add("ab", 12)
    world.step()
    assert world.side.did("ask")[-1] == ("ask", "ab", 8)
    assert world.side.did("load") == [("load", "ab", 2, 8, 11)]
    world.abort("ab")
    world.finish()


def test_a_ticket_of_nothing_left_is_given_back(world):
    world.add("a", 12, max_tokens=1)
    world.finish()
    world.side.answers["ab"] = 4
    world.add("ab", 9)
    plan, _ = world.step()
    assert scheduled(plan) == [("ab", 1)]
    assert world.side.did("ask")[-1][1] == "a"
    world.finish()


def test_less_than_promised_goes_on_from_there_and_asks_no_more(world):
    world.side.answers["a"] = 9
    world.add("a", 12)
    world.step()
    world.tell({1: 5})
    world.step()
    assert scheduled(world.step()[0]) == [("a", 7)]
    world.finish()
    assert world.got == plain("a")
    assert world.stats[1].load_failures == {"short": 1}
    assert len(world.side.did("ask")) == 1


@pytest.mark.parametrize("count, goes_on_at", [(-3, 0), (0, 0), (10**6, 9)])
def test_wrong_counts_are_held_to_what_was_promised(world, count, goes_on_at):
    world.side.answers["a"] = 9
    world.add("a", 12)
    world.step()
    world.tell({1: count})
    world.step()
    assert world.step()[0].new[0].num_computed_tokens == goes_on_at


def test_later_is_asked_again_and_others_go_on_meanwhile(world):
    world.side.answers["a"] = LATER
    world.add("a", 12)
    world.add("b", 12)
    assert scheduled(world.step()[0]) == [("b", 12)]
    assert len(world.side.did("ask")) == 2
    world.step()
    assert world.side.did("ask")[-1] == ("ask", "a", 0)
    world.side.answers["a"] = 8
    world.step()
    assert world.side.did("load") == [("load", "a", 1, 0, 8)]
    assert world.side.did("abort") == []
    world.tell({1: 8})
    world.finish()
    assert world.got == plain("a", "b")


def test_one_deadline_for_later_and_the_load(world):
    world.side.answers["a"] = LATER
    world.add("a", 12)
    world.step()
    world.now = 20.0
    world.side.answers["a"] = 8
    world.step()
    assert world.stats[-1].waiting_remote_s == 20.0
    world.now = 29.9
    world.step()
    assert world.side.did("cancel") == []
    world.now = 30.0
    plan, _ = world.step()
    assert (told(plan).cancel, world.side.did("cancel")) == ((1,), [("cancel", 1)])
    assert world.stats[-1].load_failures == {"timeout": 1}
    world.tell({1: 8})  # too late
    world.finish()
    assert world.got == plain("a")
    assert world.num_free == [100]


def test_later_beyond_the_deadline_is_a_miss(world):
    world.side.answers["a"] = LATER
    world.add("a", 12)
    world.step()
    world.now = 30.0
    assert scheduled(world.step()[0]) == [("a", 12)]
    assert world.side.did("abort") == [("abort", "a")]
    world.finish()
    assert world.stats[1].load_failures == {"timeout": 1}


def test_blocks_of_a_load_that_was_cut_come_back_after_the_step_that_says_so(world):
    world.side.answers["a"] = 8
    world.add("a", 12)
    world.step()
    world.now = 30.0
    world.side.answers.clear()
    plan = world.scheduler.schedule()
    assert told(plan).cancel == (1,)
    held = 100 - world.num_free[0]
    assert held == 2 + 3, "two of the load, three of the request that starts anew"
    world.update(plan)
    assert world.num_free == [97]


def test_stale_strange_and_repeated_results_change_nothing():
    world = KVWorld(num_ranks=2)
    world.side.answers["a"] = 8
    world.add("a", 12)
    world.step()
    world.tell({7: 8, 1: 8}, ranks=[0])
    world.step()
    world.tell({1: 8}, ranks=[0])
    world.step()
    assert world.scheduler.has_work()
    assert world.stats[-1].num_waiting_remote == 1, "the second rank has not told"
    world.tell({1: 3}, ranks=[1])
    world.step()
    assert world.step()[0].new[0].num_computed_tokens == 3, "what both have"
    world.tell({1: 8})
    world.finish()


def test_another_connectors_number_is_a_strangers():
    world = KVWorld(Side(), Side())
    world.side.answers["a"] = 8
    world.add("a", 12)
    world.step()
    world.tell({1: 8}, connector="c1")
    world.step()
    assert world.stats[-1].num_waiting_remote == 1
    world.tell({1: 8})
    world.step()
    assert world.stats[-1].num_waiting_remote == 0


def test_a_sync_load_is_confirmed_by_its_own_step(world):
    world.side.answers["a"] = SYNC
    world.add("a", 12)
    plan = world.scheduler.schedule()
    assert scheduled(plan) == [("a", 6)]
    assert (told(plan).loads, told(plan).sync_loads) == ((1,), (1,))
    assert world.side.steps[-1].scheduled == (), "it may come to nothing"
    world.tell({1: 6})
    world.update(plan)
    world.step()
    assert [one.request.request_id for one in world.side.steps[-1].scheduled] == ["a"]
    world.finish()
    assert world.got == plain("a")
    assert sum(one.num_loads for one in world.stats) == 1


@pytest.mark.parametrize(
    "results, kind, goes_on_at, cancelled", [({}, "unconfirmed", 0, (1,)), ({1: 4}, "short", 4, ())]
)
def test_a_sync_load_that_did_not_come_spoils_its_step(world, results, kind, goes_on_at, cancelled):
    world.side.answers["a"] = SYNC
    world.add("a", 12)
    world.tell(results)
    world.step()
    assert world.got.get("a", []) == []
    assert world.stats[-1].load_failures == {kind: 1}
    plan = world.scheduler.schedule()
    assert plan.preempted == ("a",)
    assert told(plan).cancel == cancelled
    assert (plan.new[0].num_computed_tokens, plan.new[0].epoch) == (goes_on_at, 1)
    world.tell({1: 6})  # too late
    world.update(plan)
    world.finish()
    assert world.got == plain("a")
    assert world.num_free == [100]


def test_policy_fail_ends_the_request_with_one_error():
    world = KVWorld(failure="fail")
    world.side.answers.update(a=8, b=SYNC)
    world.add("a", 12)
    world.add("b", 12)
    world.tell({2: 2})
    world.step()
    world.now = 30.0
    world.finish()
    assert "c0 brought nothing within 30 s (--kv-load-timeout)" in world.outputs["a"].error
    assert "c0 brought 2 of 6 tokens" in world.outputs["b"].error
    assert world.got.get("a", []) == world.got.get("b", []) == []
    assert world.num_free == [100]


def test_an_abort_cuts_the_load(world):
    world.side.answers["a"] = 8
    world.add("a", 12)
    world.step()
    world.abort("a")
    assert world.side.did("cancel") == [("cancel", 1)]
    assert world.side.did("finished") == [("finished", "a", 0)]
    assert world.num_free == [98], "until the workers know"
    plan, _ = world.step()
    assert told(plan).cancel == (1,)
    assert world.num_free == [100]
    assert not world.scheduler.has_work()


def test_an_abort_gives_back_what_was_said(world):
    world.side.answers["a"] = LATER
    world.add("a", 12)
    world.step()
    world.abort("a")
    assert world.side.calls[-2:] == [("abort", "a"), ("finished", "a", 0)]


def crowd(role):
    """Two requests for which there is not room at once; the second has a load."""
    world = KVWorld(Side(role), num_blocks=7, caching=False)  # six blocks of four tokens
    world.side.answers["b"] = 7
    world.add("b", 8, max_tokens=12, arrival_time=1.0)
    world.step()
    world.tell({1: 7})
    world.step()
    world.step()
    world.add("a", 8, max_tokens=12)
    for _ in range(60):
        world.tell({call[2]: 7 for call in world.side.did("load")})
        if world.scheduler.has_work():
            world.step()
    return world


def test_after_a_preemption_it_is_asked_again():
    world = crowd("both")
    assert len(world.side.did("load")) == 2
    assert world.side.did("preempted") == [("preempted", "b")]
    assert world.got == crowd("producer").got
    assert world.num_free == [6]


def test_a_sliding_window_takes_only_blocks_that_are_seen():
    world = KVWorld(plan=TWO_GROUPS)
    world.side.answers["a"] = 21
    world.add("a", 24)
    world.step()
    full, sliding = world.side.blocks
    assert len(full) == len(sliding) == 6
    assert [block == 0 for block in sliding] == [True] * 3 + [False] * 3
    world.tell({1: 21})
    world.step()
    assert scheduled(world.step()[0]) == [("a", 3)]
    world.finish()


def test_less_than_a_window_needs_is_nothing():
    world = KVWorld(plan=TWO_GROUPS)
    world.side.answers["a"] = 21
    world.add("a", 24)
    world.step()
    world.tell({1: 10})
    world.step()
    plan = world.scheduler.schedule()
    assert plan.new[0].num_computed_tokens == 0
    world.update(plan)
    world.finish()
    assert world.num_free == [100, 100]


def test_prompt_logprobs_are_computed(world):
    world.side.answers["a"] = 8
    world.add("a", 12, params=SamplerParams(seed=0, prompt_logprobs=1))
    assert world.scheduler.schedule().new[0].num_computed_tokens == 0
    assert world.side.did("ask") == []


def test_a_producer_is_not_asked():
    world = KVWorld(Side(role="producer"))
    world.side.answers["a"] = 8
    world.add("a", 12)
    world.step()
    assert world.side.did("ask") == []
