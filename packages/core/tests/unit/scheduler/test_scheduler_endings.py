"""How requests end: by themselves, by their own fault, aborted, and with steps in flight."""

from __future__ import annotations

import pytest
from scheduler_world import ABORT, World, scheduled

from kernelet.contracts.executor import SampledRequest, StepResult
from kernelet.errors import ParameterError, RequestError
from kernelet.request.status import FinishReason


def test_one_request_fails_alone():
    world = World()
    for name in "abc":
        world.add(name)
    _, outputs = world.step(errors={"b"})
    assert {output.request_id: output.error for output in outputs} == {"a": None, "b": "broken", "c": None}
    assert [output.finish_reason for output in outputs] == [None, "error", None]
    plan, _ = world.step()
    assert plan.finished == ("b",)
    world.finish()
    assert len(world.got["a"]) == len(world.got["c"]) == 4


@pytest.mark.parametrize("field", ["bad_words", None])
def test_the_field_that_a_request_failed_by_is_told(field):
    world = World()
    world.add("a")
    plan = world.scheduler.schedule()
    answer = SampledRequest(request_id="a", token_ids=[], error="nothing is left", error_parameter=field)
    (output,), _ = world.scheduler.update(StepResult(step=plan.step, requests=(answer,)), 0.0)
    assert (output.finish_reason, output.error_parameter, output.try_again) == ("error", field, False)


def test_strange_data_fails_its_request_alone():
    world = World()
    world.add("a")
    world.add("bad", ["no token"] * 9)
    world.add("c")
    plan, _ = world.step()
    assert scheduled(plan) == [("a", 4), ("c", 4)]
    (failed,) = world.scheduler.take_failed()
    assert (failed.request_id, failed.finish_reason) == ("bad", "error")
    assert failed.error.startswith("error: required argument is not an integer")
    world.finish()


def test_wrong_answers_fail_their_request_alone():
    world = World()
    world.add("a")
    world.add("b")
    plan = world.scheduler.schedule()
    (first, _) = world.answer(plan).requests
    outputs, _ = world.scheduler.update(StepResult(step=plan.step, requests=(first,)), 0.0)
    assert [output.error for output in outputs] == [None, "the worker returned no result for this request"]


def test_result_of_another_step_is_no_request_s_fault():
    world = World()
    world.add("a")
    world.scheduler.schedule()
    with pytest.raises(RuntimeError, match="step 9 instead of 0"):
        world.scheduler.update(StepResult(step=9), 0.0)


def test_refused_requests_leave_nothing():
    world = World()
    world.add("a")
    with pytest.raises(ParameterError):
        world.add("b", 10, 400)
    with pytest.raises(RequestError, match="in use"):
        world.add("a")
    world.finish()
    assert list(world.got) == ["a"]


def test_abort_in_every_state():
    world = World(seqs=1, tokens=4)
    world.add("running", 4, 9)
    world.add("waiting", 4, 9)
    world.step()
    outputs = world.scheduler.abort(["waiting", "running", "waiting", "unknown"], ABORT)
    assert [(output.request_id, output.finish_reason) for output in outputs] == [
        ("waiting", "abort"),
        ("running", "abort"),
    ]
    assert world.scheduler.abort(["running"], ABORT) == []
    plan, _ = world.step()
    assert plan.finished == ("running",), "the other one never reached the worker"
    assert world.cache.capacity.usage == 0.0
    assert not world.scheduler.has_work()


def test_abort_of_a_preempted_request():
    world = World(num_blocks=9, caching=False)
    world.add("a", 4, 24)
    world.add("b", 4, 24)
    while not world.step()[0].preempted:
        pass
    world.scheduler.abort(["b"], ABORT)
    plan, _ = world.step()
    assert plan.finished == (), "the worker was told that it was preempted"
    world.finish()
    assert len(world.got["a"]) == 24


def test_stop_strings_end_as_stop():
    world = World()
    world.add("a")
    world.step()
    assert world.scheduler.abort(["a"], FinishReason.STOP)[0].finish_reason == "stop"
    assert world.scheduler.take_finished()[0].finish_reason == "stop"


# --- several steps in flight ---------------------------------------------------------------------


def test_placeholders_run_ahead_of_results():
    world = World()
    world.add("a", 6, 3)
    plans = [world.scheduler.schedule() for _ in range(4)]
    assert [(e.num_computed_tokens, e.num_tokens, e.sample) for p in plans[:3] for e in p.scheduled] == [
        (0, 6, True),
        (6, 1, True),
        (7, 1, True),
    ]
    assert plans[3] is None, "all that it may generate is in flight"
    for plan in plans[:3]:
        world.update(plan)
    assert world.got["a"] == [106, 107, 108]
    assert world.scheduler.take_finished()[0].finish_reason == "length"


def test_a_stop_drops_what_is_in_flight():
    world = World()
    world.add("a", 6, 9, stop_token_ids=(107,))
    plans = [world.scheduler.schedule() for _ in range(4)]
    for plan in plans:
        world.update(plan)
    assert world.got["a"] == [106, 107]
    assert [stats.num_decode_tokens for stats in world.stats] == [1, 1, 0, 0]
    assert world.step()[0].finished == ("a",)


def test_aborted_id_comes_back_while_its_step_is_in_flight():
    world = World()
    world.add("a", 6)
    old = world.scheduler.schedule()
    world.scheduler.abort(["a"], ABORT)
    world.add("a", [5] * 9)
    new = world.scheduler.schedule()
    assert (new.finished, new.new[0].token_ids) == (("a",), [5] * 9)
    assert world.update(old) == []
    assert world.update(new)[0].token_ids == [109]


def test_results_of_an_old_epoch_are_dropped():
    world = World(num_blocks=7, caching=False)  # 6 blocks
    world.add("a", 7, 9)
    world.add("b", 11, 9)
    flight, late = [], []
    while not late:
        plan = world.scheduler.schedule()
        flight.append(plan)
        if "b" in plan.preempted:
            late = [p for p in flight if any(e.request_id == "b" for e in p.scheduled)]
    for plan in flight:
        world.update(plan)
    assert late
    assert "b" not in world.got, "every result of it was of the old epoch"
    world.finish()
    assert world.got == {"a": list(range(107, 116)), "b": list(range(111, 120))}


def test_results_of_an_old_epoch_are_dropped_after_the_resume():
    world = World(num_blocks=7, caching=False)
    world.add("a", 7, 9)
    world.add("b", 11, 9)
    flight = []
    while not flight or "b" not in flight[-1].preempted:
        flight.append(world.scheduler.schedule())
    world.scheduler.abort(["a"], ABORT)
    resumed = world.scheduler.schedule()
    assert [(new.request_id, new.epoch) for new in resumed.new] == [("b", 1)]
    for plan in flight:
        assert world.update(plan) == []
    assert world.update(resumed)[0].token_ids == [111]
    world.finish()
    assert world.got["b"] == list(range(111, 120))


def test_fail_all():
    world = World(seqs=1)
    world.add("a")
    world.add("b")
    world.scheduler.schedule()
    outputs = world.scheduler.fail_all("dead")
    assert {(output.request_id, output.error) for output in outputs} == {("a", "dead"), ("b", "dead")}
    assert {record.finish_reason for record in world.scheduler.take_finished()} == {"error"}
    assert world.cache.capacity.usage == 0.0


def test_times():
    world = World(seqs=1)
    world.now = 10.0
    world.add("a", 4, 2, arrival_time=9.0)
    world.add("b", 4, 1, arrival_time=9.5)
    world.now = 11.0
    plan = world.scheduler.schedule()
    world.now = 12.0
    world.update(plan)
    world.now = 13.0
    world.finish()
    first, second = world.scheduler.take_finished()
    assert (first.queue_s, first.first_token_s, first.total_s) == (2.0, 3.0, 4.0)
    assert (second.queue_s, second.first_token_s, second.total_s) == (3.5, 3.5, 3.5)
