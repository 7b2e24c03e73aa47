from __future__ import annotations

import pytest
from kv_world import KVWorld, Side, told

from kernelet.contracts.kv import Handover
from kernelet.errors import RequestFailedError

HOLDS = Handover(holds_blocks=True, kv_transfer_params={"from": "here"})


@pytest.fixture
def world():
    return KVWorld(caching=False)


def finish_one(world, name="a"):
    """Ten tokens in three blocks; the last token is never computed."""
    world.add(name, 8, max_tokens=3)
    while name not in world.outputs:
        world.step()


def test_blocks_stay_until_the_connector_is_done(world):
    world.side.handovers["a"] = HOLDS
    finish_one(world)
    assert world.side.did("finished") == [("finished", "a", 10)]
    assert [len(blocks) for blocks in world.side.blocks] == [3]
    assert world.outputs["a"].kv_transfer_params == {"from": "here"}
    assert world.outputs["a"].finish_reason == "length"
    assert world.num_free == [97]
    assert world.scheduler.has_work()
    world.step()
    world.tell(sent={world.side.transfer})
    world.step()
    assert world.num_free == [100]
    assert not world.scheduler.has_work()
    assert world.side.did("cancel") == []


def test_every_rank_must_be_done():
    world = KVWorld(num_ranks=2)
    world.side.handovers["a"] = HOLDS
    finish_one(world)
    for ranks, free in (([1], 97), ([1], 97), ([0], 100)):
        world.tell(sent={world.side.transfer, 12345}, ranks=ranks)
        world.step()
        assert world.num_free == [free]


def test_each_connector_holds_for_itself():
    world = KVWorld(Side(), Side())
    first, second = world.sides
    first.handovers["a"] = HOLDS
    second.handovers["a"] = Handover(holds_blocks=True, kv_transfer_params={"and": 1})
    finish_one(world)
    assert world.outputs["a"].kv_transfer_params == {"from": "here", "and": 1}
    world.tell(sent={first.transfer, second.transfer}, connector="c0")
    world.step()
    assert world.num_free == [97], "the first knows nothing of the second's"
    world.tell(sent={second.transfer}, connector="c1")
    world.step()
    assert world.num_free == [100]


def test_the_deadline(world):
    world.side.handovers["a"] = HOLDS
    finish_one(world)
    world.now += 479.0
    world.step()
    world.now += 1.0
    plan = world.scheduler.schedule()
    assert told(plan).cancel == (world.side.transfer,)
    assert world.side.did("cancel") == [("cancel", world.side.transfer)]
    assert world.num_free == [97]
    world.update(plan)
    assert world.num_free == [100]
    assert world.stats[-1].load_failures == {"handover_timeout": 1}
    assert not world.scheduler.has_work()


def test_an_aborted_request_is_handed_over_too(world):
    world.side.handovers["a"] = HOLDS
    world.add("a", 8, max_tokens=30)
    world.step()
    world.step()
    output = world.abort("a")
    assert output.kv_transfer_params == {"from": "here"}
    assert world.side.did("finished") == [("finished", "a", 9)]
    world.tell(sent={world.side.transfer})
    world.step()
    assert world.num_free == [100]


def test_who_has_no_blocks_gives_none(world):
    world.side.handovers["a"] = HOLDS
    world.add("a", 8)
    world.abort("a")
    assert world.side.blocks == ((),)
    assert world.side.did("finished") == [("finished", "a", 0)]
    assert not world.scheduler.has_work()


@pytest.mark.parametrize("required, reason", [(False, "length"), (True, "error")])
def test_a_connector_that_fails_at_the_end(required, reason, caplog):
    world = KVWorld(requires_delivery=required)
    world.side.failing["request_finished"] = 0
    finish_one(world)
    assert world.outputs["a"].finish_reason == reason
    assert ("c0, which must hand over keys and values, is switched off" in (world.outputs["a"].error or "")) == required
    assert "KV connector c0 is switched off" in caplog.text
    world.finish()
    assert world.num_free == [100]


def test_no_request_is_taken_whose_answer_would_be_worth_nothing():
    world = KVWorld(requires_delivery=True)
    world.side.failing["build_connector_meta"] = 0
    world.add("a", 8)
    world.finish()
    assert "which must hand over" in world.outputs["a"].error
    with pytest.raises(RequestFailedError, match=r"switched off \(build_connector_meta\(\) raised Planted"):
        world.add("b", 8)
    assert not world.scheduler.has_work()


def test_what_is_held_comes_back_from_one_that_is_switched_off():
    world = KVWorld(Side(), Side(), caching=False)
    first, second = world.sides
    for side in world.sides:
        side.handovers["a"] = HOLDS
    finish_one(world)
    second.failing["build_connector_meta"] = 0
    plan, _ = world.step()
    assert (told(plan, "c1").off, told(plan, "c1").cancel, world.num_free) == (True, (), [97])
    plan = world.scheduler.schedule()
    assert (told(plan, "c1").off, told(plan, "c1").cancel, told(plan).cancel) == (True, (second.transfer,), ())
    world.update(plan)
    assert world.num_free == [97], "the first holds them still"
    assert world.stats[-1].load_failures == {"connector_off": 1}
    world.tell(sent={first.transfer})
    world.step()
    assert world.num_free == [100]


def test_a_full_pool_waits_for_handovers():
    world = KVWorld(num_blocks=5, caching=False)
    world.side.handovers["a"] = HOLDS
    finish_one(world)
    world.add("b", 8)
    plan, _ = world.step()
    assert plan.scheduled == ()
    world.tell(sent={world.side.transfer})
    world.step()
    world.finish()
    assert world.outputs["b"].finish_reason == "length"


def test_a_running_request_waits_for_handovers():
    world = KVWorld(num_blocks=7, caching=False)
    world.side.handovers["a"] = HOLDS
    world.add("b", 7, max_tokens=8)
    world.step()
    finish_one(world)
    for _ in range(9):
        world.step()
    assert world.side.did("preempted") == []
    assert 0 < len(world.got["b"]) < 8
    world.tell(sent={world.side.transfer})
    world.finish()
    assert len(world.got["b"]) == 8
