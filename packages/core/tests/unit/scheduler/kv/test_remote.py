from __future__ import annotations

import msgspec
import pytest
from kv_world import KVWorld, Side, told
from scheduler_world import scheduled

from kernelet.contracts.kv import LATER, Ticket
from kernelet.errors import ParameterError, PluginError

METHODS = (
    *("on_new_request", "get_num_new_matched_tokens", "update_state_after_alloc", "abort", "cancel"),
    *("request_preempted", "build_connector_meta", "update_connector_output", "request_finished", "has_pending_work"),
)


@pytest.fixture
def world():
    return KVWorld()


def test_steps_tell_connectors_what_happens(world):
    world.add("a", 6, max_tokens=3)
    world.step()
    world.step()
    world.abort("a")
    world.step()
    first, second, third = world.side.steps
    (one,) = first.scheduled
    assert (one.request.request_id, one.num_computed_tokens, one.num_scheduled_tokens) == ("a", 0, 6)
    assert [len(blocks) for blocks in one.block_ids] == [2]
    assert (second.scheduled[0].num_computed_tokens, second.scheduled[0].block_ids) == (6, one.block_ids)
    assert (third.scheduled, third.finished) == ((), ("a",))
    assert [step.step for step in world.side.steps] == [0, 1, 2]


def test_what_one_builds_goes_to_its_own_workers():
    world = KVWorld(Side(), Side())
    world.add("a", 6)
    plan, _ = world.step()
    assert set(plan.extensions) == {"c0", "c1"}
    assert told(plan, "c1").meta == b"0"


def test_nothing_to_do_is_no_step(world):
    assert world.scheduler.schedule() is None
    assert not world.scheduler.has_work()
    assert not world.scheduler.can_schedule()


def test_a_connector_may_want_steps(world):
    world.side.pending = True
    assert world.scheduler.has_work() and world.scheduler.can_schedule()
    plan, _ = world.step()
    assert plan.scheduled == ()
    world.side.pending = False
    assert world.scheduler.schedule() is None


def test_only_one_step_asks_while_others_are_in_flight(world):
    world.side.answers["a"] = LATER
    world.add("a", 6)
    plan = world.scheduler.schedule()
    assert world.scheduler.schedule() is None
    world.update(plan)
    assert world.scheduler.schedule() is not None


def test_workers_talk_to_their_scheduler_side(world):
    world.add("a", 6)
    world.tell(meta=b"hello", stats={"bytes": 3.0})
    world.step()
    assert world.side.did("output") == [("output", [b"hello"])]
    assert world.stats[-1].kv_connectors == {"c0": {"bytes": 3.0}}
    world.step()
    assert len(world.side.did("output")) == 1
    assert world.stats[-1].kv_connectors == {}


def test_a_worker_that_says_nothing_is_an_error(world):
    world.add("a", 6)
    plan = world.scheduler.schedule()
    world.answer = super(KVWorld, world).answer
    with pytest.raises(RuntimeError, match="0 of 1 ranks told of KV connector c0"):
        world.update(plan)


def test_the_worst_that_waits_with_blocks_gives_way():
    """Blocks of a request that is loaded stand in the way of a better one, where nothing runs."""
    world = KVWorld(num_blocks=6, caching=False)
    world.side.answers["b"] = 7
    world.add("b", 8, arrival_time=1.0)
    world.step()
    world.tell({1: 7})
    world.add("a", 15, max_tokens=1)
    world.step()
    assert scheduled(world.step()[0]) == [("a", 15)]
    assert world.side.did("preempted") == [("preempted", "b")]
    world.side.answers.clear()
    world.finish()
    assert set(world.outputs) == {"a", "b"}


def test_a_running_request_takes_blocks_of_a_load_behind_it():
    world = KVWorld(num_blocks=8, caching=False)
    world.side.answers["b"] = 11
    world.add("a", 8, max_tokens=16)
    world.add("b", 12, max_tokens=1, arrival_time=1.0)
    world.step()
    for _ in range(9):
        world.step()
    assert world.side.did("cancel") == [("cancel", 1)]
    assert world.side.did("preempted") == [("preempted", "b")]
    world.side.answers.clear()
    world.finish()
    assert (len(world.got["a"]), len(world.got["b"])) == (16, 1)
    assert world.num_free == [7]


def test_a_running_request_behind_one_that_is_loaded_gives_way_itself():
    """The loaded one has its blocks, the running one cannot grow: neither waits for the other for ever."""
    world = KVWorld(num_blocks=8, caching=False)
    world.add("c", 4, max_tokens=20, arrival_time=1.0)
    world.step()
    world.side.answers["b"] = 11
    world.add("b", 12, max_tokens=1)
    for _ in range(12):
        world.step()
    assert world.num_free == [0]
    world.tell({1: 11})
    world.step()
    assert world.step()[0].preempted == ("c",)
    world.side.answers.clear()
    world.finish()
    assert (len(world.got["b"]), len(world.got["c"])) == (1, 20)


class Honest(KVWorld):
    """Whose ranks confirm each load that they are told of."""

    def answer(self, plan, errors=()):
        for index, side in enumerate(self.sides):
            begun = told(plan, f"c{index}").loads
            confirmed = {call[2]: call[4] - call[3] for call in side.did("load") if call[2] in begun}
            self.tell(confirmed, connector=f"c{index}", meta=b"x")
        return super().answer(plan, errors)


@pytest.mark.parametrize("policy", ["recompute", "fail"])
@pytest.mark.parametrize("sync", [False, True])
@pytest.mark.parametrize("calls", [0, 1, 2])
@pytest.mark.parametrize("method", METHODS)
def test_a_connector_that_raises_is_switched_off_and_the_engine_goes_on(method, calls, sync, policy, caplog):
    """The other one goes on, and the text is the same."""
    world = Honest(Side(), Side(), failure=policy)
    first, second = world.sides
    first.failing[method] = calls
    first.answers.update(a=Ticket(num_tokens=7, load_async=not sync), b=LATER, c=9)
    second.answers.update(d=7, e=7)
    for name in "abcd":
        world.add(name, 12)
    for _ in range(4):
        world.step()
    first.answers["b"] = None
    world.finish()
    world.add("e", 12)
    world.finish()
    world.cache.check()
    assert world.num_free == [100]
    expected = KVWorld(Side(role="producer"))
    for name in "abcde":
        expected.add(name, 12)
    expected.finish()
    for name in "abcde":
        error = world.outputs[name].error
        assert world.got.get(name) == expected.got[name] or (policy == "fail" and " c0 " in error), error
    assert [call[1] for call in second.did("load")] == ["d", "e"]
    records = [record for record in caplog.records if record.levelname == "ERROR"]
    assert len(records) == (first.failing[method] < 0)
    for record in records:
        assert "KV connector c0 is switched off" in record.getMessage()
        assert f"{method}() raised Planted: {method}\nTraceback" in record.getMessage()
        assert world.stats[-1].kv_connectors_off == ("c0",)


def test_a_rank_that_failed_switches_its_connector_off(world, caplog):
    world.side.answers["a"] = 9
    world.add("a", 12)
    world.step()
    world.tell(failed="start_load_kv() raised OSError: gone")
    world.step()
    plan, _ = world.step()
    assert (told(plan).off, told(plan).cancel, told(plan).meta) == (True, (1,), b"")
    assert "start_load_kv() raised OSError: gone (rank 0)" in caplog.text
    world.tell({1: 9})  # too late
    world.finish()
    assert world.stats[1].kv_connectors_off == ("c0",)
    assert sum(stats.load_failures.get("connector_off", 0) for stats in world.stats) == 1
    assert world.side.did("cancel") == []
    assert world.num_free == [100]


@pytest.mark.parametrize("rank", [0, 1])
def test_one_rank_that_failed_switches_it_off_on_all(rank, caplog):
    """The other rank has the load, and its word alone is worth nothing."""
    world = KVWorld(num_ranks=2)
    world.side.answers["a"] = 9
    world.add("a", 12)
    world.step()
    world.tell({1: 9}, ranks=[1 - rank])
    world.tell(failed="get_finished() raised OSError: gone", ranks=[rank])
    world.step()
    assert f"get_finished() raised OSError: gone (rank {rank})" in caplog.text
    assert told(world.step()[0]).off
    world.finish()
    assert world.outputs["a"].finish_reason == "length"
    assert world.outputs["a"].num_cached_tokens == 0
    assert world.num_free == [100]


def test_a_report_that_nobody_understands_switches_its_connector_off(world, caplog):
    world.add("a", 6)
    plan = world.scheduler.schedule()
    answer = world.answer(plan)
    world.answer = lambda plan, errors=(): msgspec.structs.replace(answer, extensions={"c0": [b"\xff"]})
    world.update(plan)
    del world.answer
    world.finish()
    assert "what rank 0 tells of it cannot be read" in caplog.text
    assert world.outputs["a"].finish_reason == "length"


def test_an_engine_that_failed_ends_its_connectors_only(world):
    world.side.answers["a"] = 4
    world.add("a", 6)
    world.step()
    (output,) = world.scheduler.fail_all("it broke")
    assert output.error == "it broke"
    world.scheduler.close()
    assert world.side.did("finished") == []
    assert world.side.calls[-1] == ("shutdown",)


def test_promises_from_before_a_reset_are_taken_back():
    """One request waits for an answer, another for room for what it was promised; a third is loaded already."""
    world = KVWorld(num_blocks=7, caching=False)
    world.side.answers.update(a=LATER, b=11, c=11)
    for name in "abc":
        world.add(name, 12, max_tokens=2)
    world.step()
    assert [call[1] for call in world.side.did("load")] == ["b"]
    world.scheduler.reset_connectors()
    assert world.side.calls[-3:] == [("abort", "a"), ("abort", "c"), ("reset",)]
    world.side.answers.clear()
    world.tell({1: 11})
    world.finish()
    assert [call[1] for call in world.side.did("load")] == ["b"], "they were asked anew"
    assert all(output.finish_reason == "length" for output in world.outputs.values())
    assert world.num_free == [6]


def test_the_end(world):
    world.scheduler.reset_connectors()
    world.scheduler.close()
    world.scheduler.close()
    with pytest.raises(PluginError, match="no KV connector runs"):
        world.scheduler.reset_connectors()
    assert world.side.calls == [("reset",), ("shutdown",)]


def test_a_request_that_a_connector_refuses_ends_with_its_error():
    world = KVWorld(Side())
    world.sides[0].refuses = ParameterError("kv_transfer_params.a", "no")
    with pytest.raises(ParameterError, match=r"^kv_transfer_params\.a: no$"):
        world.add("a", 6)
    world.sides[0].refuses = None
    world.add("a", 6, max_tokens=2)
    world.finish()
    assert world.sides[0].did("finished") == [("finished", "a", 7)]
