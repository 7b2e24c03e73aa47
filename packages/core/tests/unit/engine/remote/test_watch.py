from __future__ import annotations

import pytest

from kernelet.config import HealthConfig
from kernelet.engine.remote.messages import Pulse
from kernelet.engine.remote.watch import Watch


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def watch(clock):
    watch = Watch(HealthConfig(silence_timeout=10.0, step_timeout=60.0), clock)
    watch.started()
    return watch


def test_a_start_may_take_as_long_as_it_takes(clock):
    watch = Watch(HealthConfig(silence_timeout=10.0), clock)
    clock.now += 1000
    assert watch.health().state == "starting"
    assert watch.health().age == 1000


def test_an_idle_engine_is_ready_as_long_as_it_lives(watch, clock):
    for _ in range(100):
        clock.now += 9
        watch.heard(Pulse())
        assert (watch.health().state, watch.health().age) == ("ready", 0.0)
    clock.now += 10.5
    health = watch.health()
    assert (health.state, health.age) == ("stalled", 10.5)
    assert "no sign of life" in health.detail
    watch.heard(Pulse())
    assert watch.health().state == "ready"


def test_a_saturated_engine_is_ready_while_its_steps_end(watch, clock):
    for age in (0.0, 5.0, 59.0):
        watch.heard(Pulse(busy=True, age=age))
        assert (watch.health().state, watch.health().age) == ("ready", age)
    clock.now += 2.0
    health = watch.health()
    assert (health.state, health.age) == ("stalled", 61.0)
    assert "the step that it computes has taken 61 s" in health.detail


@pytest.mark.parametrize("state, word", [("draining", "draining"), ("asleep", "sleeps")])
def test_other_states_are_told(watch, state, word):
    watch.changed(state)
    watch.heard(Pulse())
    assert watch.health().state == state
    assert word in watch.health().detail
    assert not watch.health().ready


def test_another_engine_starts_and_says_how_it_is(watch):
    watch.changed("asleep")
    watch.restart()
    watch.heard(Pulse())
    assert watch.health().state == "starting"
    watch.started("draining")
    assert watch.health().state == "draining"


def test_a_process_that_did_not_run_knows_nothing_of_others(watch, clock):
    watch.changed("draining")
    clock.now += 1000
    watch.forgive()
    assert watch.health().state == "draining"


def test_the_last_pulse_is_kept(watch):
    pulse = Pulse(age=3.0, busy=True)
    watch.heard(pulse)
    assert watch.last == pulse
