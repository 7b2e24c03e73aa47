from __future__ import annotations

import pytest
from echo_control import Echo

from kernelet.contracts.executor import EnginePlan
from kernelet.contracts.sampling import SamplerParams
from kernelet.engine.controls import Controls
from kernelet.engine.driver import CoreDriver, RunningCore
from kernelet.engine.stats import StatDispatcher
from kernelet.errors import EngineDeadError, ParameterError, PluginError
from kernelet.testing.null.harness import null_core, null_engine_config, null_request
from kernelet.testing.null.tokens import generate

PLAN = EnginePlan(architecture="A", row="", dtype="float32", platform="null", layers=())
GREEDY = SamplerParams(seed=0, temperature=0.0)


class World:
    """A driver, what its workers were told, and what its callers heard."""

    def __init__(self, **fields):
        self.core, _ = null_core(null_engine_config())
        self.told, self.answers = [], []
        self.driver = CoreDriver(
            RunningCore(
                core=self.core,
                plan=PLAN,
                close=lambda: None,
                stats=StatDispatcher([]),
                control=Controls([("echo", Echo())], lambda *_: []),
                **{
                    "sleep": lambda level: self.told.append(level),
                    "wake_up": lambda: self.told.append("up"),
                    **fields,
                },
            )
        )

    def call(self, name, *arguments):
        self.driver.call(name, arguments, lambda value, error: self.answers.append((name, value, error)))

    def heard(self):
        """(call, value, its error as text) of each answer since the last time."""
        answers, self.answers = self.answers, []
        return [(name, value, error and str(error)) for name, value, error in answers]

    def run(self):
        """All tokens by request, until there is nothing to do."""
        found = {}
        while self.driver.runnable:
            self.driver.step()
        for output in self.driver.take_outputs():
            found.setdefault(output.request_id, []).extend(output.token_ids)
        return found


@pytest.fixture
def world():
    return World()


def test_requests_and_statistics(world):
    world.driver.add(null_request("a", [1, 2], 6))
    world.driver.add(null_request("b", [3], 500))
    world.driver.abort(["b", "unknown"])
    assert world.run() == {"a": generate([1, 2], GREEDY, 260, 6)}
    steps, finished = world.driver.take_stats()
    assert len(steps) >= 6
    assert {one.request_id: one.finish_reason for one in finished} == {"a": "length", "b": "abort"}
    assert world.driver.take_stats() == ([], [])


def test_what_the_core_refuses_ends_with_its_own_error(world, caplog):
    world.driver.add(null_request("long", [1] * 5000))
    world.driver.add(null_request("a", [1]))
    world.driver.add(null_request("a", [1]))
    long, twice = world.driver.take_outputs()
    assert (long.request_id, long.finish_reason) == ("long", "error")
    assert "4096" in long.error
    assert "in use" in twice.error
    assert not caplog.records

    class Buggy:
        def add_request(self, request):
            raise RuntimeError("a bug")

    world.driver._core = Buggy()
    world.driver.add(null_request("b", [1]))
    assert [output.error for output in world.driver.take_outputs()] == ["RuntimeError: a bug"]

    class Refusing:
        def add_request(self, request):
            raise ParameterError("top_p", "too late")

    world.driver._core = Refusing()
    world.driver.add(null_request("b", [1]))
    (refused,) = world.driver.take_outputs()
    assert (refused.error, refused.error_parameter) == ("top_p: too late", "top_p")


def test_calls(world):
    world.call("reset_prefix_cache")
    world.call("control", "echo", "name-", b"payload")
    world.call("control", "other", "x", b"")
    world.call("control")
    world.call("shave")
    reset, echo, other, wrong, unknown = world.heard()
    assert reset == ("reset_prefix_cache", None, None)
    world.call("reset_prefix_cache", True)
    assert "no KV connector runs" in world.heard()[-1][2]
    assert echo == ("control", b"name-payload", None)
    assert other[2].startswith("plugin 'other' takes no control calls")
    assert "missing 3 required" in wrong[2]
    assert "no call 'shave'" in unknown[2]


def test_sleep_waits_for_what_runs_and_requests_wait_for_its_end(world):
    world.driver.add(null_request("before", [1], 5))
    world.call("sleep", 1)
    world.driver.add(null_request("after", [2], 5))
    world.driver.add(null_request("after", [2], 5))
    world.driver.add(null_request("aborted", [2], 5))
    assert world.driver.state == "ready"
    (twice,) = world.driver.take_outputs()
    assert "in use" in twice.error
    assert world.run() == {"before": generate([1], GREEDY, 260, 5)}
    assert world.heard() == [("sleep", None, None)]
    assert (world.driver.state, world.told) == ("asleep", [1])
    world.call("sleep", 2)
    world.driver.abort(["aborted"])
    assert not world.driver.runnable
    world.call("wake_up")
    assert world.heard() == [("sleep", None, None), ("wake_up", None, None)]
    assert (world.driver.state, world.told) == ("ready", [1, "up"])
    assert world.run() == {"after": generate([2], GREEDY, 260, 5)}


def test_sleep_forgets_cached_prefixes(world):
    prompt = list(range(1, 100))
    hits = []
    for nap in (False, False, True):
        if nap:
            world.call("sleep", 1)
            world.call("wake_up")
        world.driver.add(null_request("a", prompt, 2))
        world.run()
        hits.append(sum(step.prefix_hits for step in world.driver.take_stats()[0]))
    assert hits[0] == hits[2] == 0
    assert hits[1] > 0


def test_a_worker_that_cannot_sleep():
    def refuse(level):
        raise PluginError("no")

    world = World(sleep=refuse)
    world.driver.add(null_request("a", [1], 3))
    world.call("sleep", 2)
    world.driver.add(null_request("held", [2], 3))
    assert set(world.run()) == {"a", "held"}
    assert world.heard() == [("sleep", None, "no")]
    assert world.driver.state == "ready"


def test_levels_of_sleep(world):
    world.call("sleep", 3)
    ((_, _, error),) = world.answers
    assert isinstance(error, ParameterError)
    assert world.told == []


def test_the_default_sleep_keeps_weights():
    from kernelet.engine.driver import no_sleep

    no_sleep(1)
    with pytest.raises(PluginError, match="use level 1"):
        no_sleep(2)


def test_waking_up_before_it_sleeps(world):
    world.driver.add(null_request("a", [1], 3))
    world.call("sleep", 1)
    world.driver.add(null_request("b", [1], 3))
    world.call("wake_up")
    assert set(world.run()) == {"a", "b"}
    assert world.heard() == [("wake_up", None, None), ("sleep", None, "the engine was woken up before it slept")]
    assert world.told == []


def test_drain_refuses_and_waits(world):
    world.driver.add(null_request("a", [1], 3))
    world.call("drain")
    world.driver.add(null_request("b", [1], 3))
    (refused,) = world.driver.take_outputs()
    assert (refused.request_id, refused.finish_reason) == ("b", "error")
    assert "draining" in refused.error
    assert world.heard() == []
    assert set(world.run()) == {"a"}
    assert world.heard() == [("drain", None, None)]
    assert world.driver.state == "draining"
    world.call("wake_up")
    assert (world.driver.state, world.told) == ("ready", [])
    world.driver.add(null_request("b", [1], 3))
    assert set(world.run()) == {"b"}


def test_drain_ends_what_waits_for_the_end_of_a_sleep(world):
    world.call("sleep", 1)
    world.driver.add(null_request("held", [1], 3))
    world.call("drain")
    assert [output.request_id for output in world.driver.take_outputs()] == ["held"]
    assert [name for name, _, error in world.heard() if error is None] == ["sleep", "drain"]


def test_an_abort_may_be_what_a_drain_waits_for(world):
    world.driver.add(null_request("a", [1], 3000))
    world.driver.step()
    world.call("drain")
    world.driver.abort(["a"])
    world.run()
    assert world.heard() == [("drain", None, None)]


def test_whoever_waits_is_told_of_the_end(world):
    world.driver.add(null_request("a", [1], 3))
    world.call("drain")
    world.driver.give_up(EngineDeadError("gone"))
    assert world.heard() == [("drain", None, "gone")]


def test_the_cache_is_told_of_after_steps_and_calls():
    heard = []
    world = World(publish=lambda: heard.append(world.core.cache.pools[0].usage))
    world.driver.add(null_request("a", [1, 2, 3], 1))
    world.driver.step()
    assert len(heard) == 1
    world.call("reset_prefix_cache")
    assert len(heard) == 2


def test_a_worker_that_is_gone():
    def check():
        raise EngineDeadError("rank 1 is gone")

    with pytest.raises(EngineDeadError, match="rank 1"):
        World(check_health=check).driver.check_health()


def test_an_engine_that_dies_of_a_call_says_so_to_both():
    def wake_up():
        raise EngineDeadError("the worker failed")

    world = World(wake_up=wake_up, check_health=wake_up)
    world.call("sleep", 1)
    assert world.heard() == [("sleep", None, None)]
    with pytest.raises(EngineDeadError, match="the worker failed"):
        world.call("wake_up")
    assert world.heard() == [("wake_up", None, "the worker failed")]
