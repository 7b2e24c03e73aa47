from __future__ import annotations

import queue
import threading
import time

import pytest
from echo_control import Echo

from kernelet.contracts.executor import EnginePlan
from kernelet.contracts.sampling import SamplerParams
from kernelet.engine.controls import Controls
from kernelet.engine.in_process import InProcessClient, RunningCore
from kernelet.engine.stats import StatDispatcher
from kernelet.errors import EngineDeadError, ParameterError, PluginError
from kernelet.request.status import FinishReason
from kernelet.testing.null.harness import null_core, null_engine_config, null_request
from kernelet.testing.null.tokens import generate

GREEDY = SamplerParams(seed=0, temperature=0.0)
PLAN = EnginePlan(architecture="A", row="", dtype="float32", platform="null", layers=())


class Watched:
    """A core that can be held between two steps, made to fail, and looked at."""

    def __init__(self):
        self.core, self.executor = null_core(null_engine_config())
        self.gate = threading.Event()
        self.gate.set()
        self.fail = threading.Event()
        self.closed = 0
        self.threads = set()

    def __getattr__(self, name):
        return getattr(self.core, name)

    def step(self):
        assert self.gate.wait(10)
        self.threads.add(threading.current_thread().name)
        if self.fail.is_set():
            raise RuntimeError("the device is gone")
        return self.core.step()

    def close(self):
        self.closed += 1

    def start(self):
        control = Controls([("echo", Echo())], lambda *_: [])
        return RunningCore(core=self, plan=PLAN, close=self.close, stats=StatDispatcher([]), control=control)


@pytest.fixture
def watched():
    return Watched()


@pytest.fixture
def client(watched):
    client = InProcessClient(watched.start)
    yield client
    watched.gate.set()
    client.shutdown()


class Sink:
    def __init__(self):
        self.items = queue.SimpleQueue()

    def __call__(self, outputs):
        self.items.put(outputs)

    def until_finished(self, count=1):
        """All outputs until so many choices ended."""
        found = []
        while count:
            item = self.items.get(timeout=10)
            if isinstance(item, EngineDeadError):
                raise item
            found += item
            count -= sum(output.finish_reason is not None for output in item)
        return found


def tokens(outputs, request_id):
    return [token for output in outputs if output.request_id == request_id for token in output.token_ids]


def test_requests_come_back_to_their_own_sinks(client):
    sinks = {name: Sink() for name in "abc"}
    for index, name in enumerate("abc"):
        client.add([null_request(name, [index + 1, 2], 8)], sinks[name])
    for index, name in enumerate("abc"):
        outputs = sinks[name].until_finished()
        assert {output.request_id for output in outputs} == {name}
        assert tokens(outputs, name) == generate([index + 1, 2], GREEDY, 260, 8)


def test_the_core_runs_on_a_thread_of_its_own(client, watched):
    sink = Sink()
    client.add([null_request("a", [1])], sink)
    sink.until_finished()
    assert watched.threads == {"kernelet-engine"}


def test_an_aborted_request_is_silent_and_frees_its_blocks(client, watched):
    watched.gate.clear()
    sink = Sink()
    client.add([null_request("a", [1], 1000)], sink)
    client.abort(["a", "unknown"])
    client.abort(["a"])
    watched.gate.set()
    other = Sink()
    client.add([null_request("b", [1], 4)], other)
    other.until_finished()
    assert all(output.finish_reason is None for _ in range(sink.items.qsize()) for output in sink.items.get())
    assert client.stats().finished == {"abort": 1, "length": 1}
    assert watched.core.cache.capacity.usage == 0.0


def test_a_stop_string_is_counted_as_a_stop(client, watched):
    watched.gate.clear()
    client.add([null_request("a", [1], 1000)], Sink())
    client.abort(["a"], FinishReason.STOP)
    watched.gate.set()
    client.reset_prefix_cache()
    assert client.stats().finished == {"stop": 1}


def test_an_id_in_use_is_refused_and_free_again_later(client, watched):
    watched.gate.clear()
    sink = Sink()
    client.add([null_request("a", [1], 2)], sink)
    with pytest.raises(ParameterError, match="'a' is in use"):
        client.add([null_request("a", [1])], Sink())
    watched.gate.set()
    sink.until_finished()
    again = Sink()
    client.add([null_request("a", [1], 2)], again)
    again.until_finished()


def test_what_the_core_refuses_ends_with_its_own_error(client):
    bad, good = Sink(), Sink()
    client.add([null_request("long", [1] * 5000)], bad)
    client.add([null_request("good", [1], 2)], good)
    (output,) = bad.until_finished()
    assert output.finish_reason == "error"
    assert output.error
    assert len(tokens(good.until_finished(), "good")) == 2


def test_a_sink_that_raises_loses_its_requests_and_no_other(client, watched, caplog):
    def broken(outputs):
        raise RuntimeError("a bug in the consumer")

    watched.gate.clear()
    client.add([null_request("bad", [1], 1000)], broken)
    sink = Sink()
    client.add([null_request("good", [1], 4)], sink)
    watched.gate.set()
    assert len(tokens(sink.until_finished(), "good")) == 4
    client.reset_prefix_cache()
    assert client.stats().finished == {"length": 1, "abort": 1}
    assert len([record for record in caplog.records if "consumer" in record.message]) == 1


def test_a_dead_engine_fails_its_requests_and_takes_no_more(client, watched, caplog):
    watched.gate.clear()
    sinks = [Sink(), Sink()]
    for index, sink in enumerate(sinks):
        client.add([null_request(str(index), [1], 1000)], sink)
    watched.fail.set()
    watched.gate.set()
    for sink in sinks:
        with pytest.raises(EngineDeadError, match="the device is gone"):
            sink.until_finished()
    with pytest.raises(EngineDeadError, match="the device is gone"):
        client.add([null_request("b", [1])], Sink())
    with pytest.raises(EngineDeadError):
        client.check_health()
    with pytest.raises(EngineDeadError):
        client.reset_prefix_cache()
    client.abort(["0"])
    client.shutdown()
    assert watched.closed == 1


def test_a_shutdown_ends_what_runs(watched):
    client = InProcessClient(watched.start)
    client.check_health()
    watched.gate.clear()
    sink = Sink()
    client.add([null_request("a", [1], 4000)], sink)
    threading.Timer(0.1, watched.gate.set).start()
    client.shutdown()
    client.shutdown()
    with pytest.raises(EngineDeadError, match="shut down"):
        sink.until_finished()
    assert watched.closed == 1


def test_a_start_that_fails_raises_its_own_error():
    def start():
        raise ParameterError("x", "no memory")

    with pytest.raises(ParameterError, match="no memory"):
        InProcessClient(start)


def test_a_step_that_takes_too_long_is_a_stall(watched):
    client = InProcessClient(watched.start, step_timeout=0.05)
    try:
        watched.gate.clear()
        client.add([null_request("a", [1], 3)], Sink())
        deadline = time.monotonic() + 60
        while client.health().state != "stalled" and time.monotonic() < deadline:
            time.sleep(0.01)
        assert "--engine-step-timeout" in client.health().detail
        with pytest.raises(EngineDeadError, match="has taken"):
            client.check_health()
    finally:
        watched.gate.set()
        client.shutdown()


def test_control_reaches_the_plugin_between_two_steps(client):
    assert client.control("echo", "name-", b"payload") == b"name-payload"
    with pytest.raises(PluginError, match=r"'other' takes no control calls"):
        client.control("other", "x", b"")


def test_the_plan_is_the_cores(client):
    assert client.plan is PLAN


def test_an_idle_engine_does_not_spin(client, watched):
    sink = Sink()
    client.add([null_request("a", [1], 2)], sink)
    sink.until_finished()
    steps = client.stats().num_steps
    time.sleep(0.05)
    assert client.stats().num_steps <= steps + 1
