"""The client against a server of the test; with processes of their own in ``tests/engine/test_remote.py``."""

from __future__ import annotations

import threading

import pytest

from kernelet.config import HealthConfig
from kernelet.contracts.offer import Settings
from kernelet.contracts.sampling import SamplerParams
from kernelet.contracts.serving import Exposition
from kernelet.contracts.stats import StatLogger
from kernelet.engine.remote.client import RemoteClient
from kernelet.engine.remote.line import RemoteOptions
from kernelet.engine.stats import StatDispatcher
from kernelet.errors import EngineDeadError, ParameterError, PluginError
from kernelet.request.status import FinishReason
from kernelet.testing.null.harness import null_request
from kernelet.testing.null.tokens import generate

GREEDY = SamplerParams(seed=0, temperature=0.0)
OPTIONS = RemoteOptions(heartbeat_interval=0.05, limits=HealthConfig(silence_timeout=30.0, step_timeout=0.5))


class Recorder(StatLogger):
    """Keeps all that it is told."""

    def __init__(self):
        super().__init__(Settings(plugin="x"), None)
        self.steps, self.finished, self.closed = [], [], 0

    def record(self, stats):
        self.steps.append(stats)

    def record_finished(self, request):
        self.finished.append(request)

    def exposition(self):
        return Exposition(content_type="text/plain", body=b"steps %d\n" % len(self.steps))

    def close(self):
        self.closed += 1


@pytest.fixture
def recorder():
    return Recorder()


@pytest.fixture
def client(engine, place, recorder):
    client = RemoteClient(place, 0, OPTIONS, make_stats=lambda plan: StatDispatcher([(plan.platform, recorder)]))
    yield client
    engine.core.gate.set()
    client.shutdown()


def tokens(outputs, name):
    return [token for output in outputs if output.request_id == name for token in output.token_ids]


def test_requests_come_back_to_their_own_sinks(client, sink_class, recorder):
    sinks = {name: sink_class() for name in "abc"}
    for index, name in enumerate("abc"):
        client.add([null_request(name, [index + 1, 2], 8)], sinks[name])
    for index, name in enumerate("abc"):
        outputs = sinks[name].until_finished()
        assert {output.request_id for output in outputs} == {name}
        assert tokens(outputs, name) == generate([index + 1, 2], GREEDY, 260, 8)
        assert name in {one.request_id for one in recorder.finished}, "statistics come before the last token"
    assert client.stats().finished == {"length": 3}
    assert client.stats().num_steps == len(recorder.steps)


def test_an_aborted_request_is_silent_and_counted(client, engine, sink):
    engine.core.gate.clear()
    client.add([null_request("a", [1], 1000)], sink)
    client.add([null_request("b", [1], 1000)], sink)
    client.abort(["a", "unknown"])
    client.abort(["a"])
    client.abort(["b"], FinishReason.STOP)
    engine.core.gate.set()
    client.reset_prefix_cache()
    assert client.stats().finished == {"abort": 1, "stop": 1}
    assert engine.core.cache.capacity.usage == 0.0


def test_an_id_in_use_is_refused_here(client, engine, sink):
    engine.core.gate.clear()
    client.add([null_request("a", [1], 2)], sink)
    with pytest.raises(ParameterError, match="'a' is in use"):
        client.add([null_request("a", [1])], sink)
    engine.core.gate.set()
    sink.until_finished()
    client.add([null_request("a", [1], 2)], sink)
    sink.until_finished()


def test_what_cannot_be_sent_is_an_error_of_the_caller(client, sink):
    with pytest.raises(ParameterError, match="cannot be sent"):
        client.add([null_request("a", [1], params=SamplerParams(seed=0, extra_args={"x": {"y": object()}}))], sink)
    assert client._sinks.names() == []
    with pytest.raises(ParameterError, match="level"):
        client.sleep(7)


def test_what_the_engine_refuses_ends_with_its_error(client, sink):
    client.add([null_request("long", [1] * ((1 << 20) + 1))], sink)
    (output,) = sink.until_finished()
    assert output.finish_reason == "error"


def test_calls_raise_what_the_engine_raises(client):
    assert client.control("echo", "name-", b"payload") == b"name-payload"
    with pytest.raises(PluginError, match=r"'other' takes no control calls"):
        client.control("other", "x", b"")
    client.sleep(1)
    client.wake_up()
    client.drain()


def test_a_call_that_changes_the_state_returns_when_it_is_known(client, place, until):
    assert (client.health().state, client.health().detail) == ("ready", "")
    other = RemoteClient(place, 1, OPTIONS)
    try:
        for call, state in ((lambda: client.sleep(1), "asleep"), (client.wake_up, "ready"), (client.drain, "draining")):
            call()
            assert client.health().state == state
            until(lambda state=state: other.health().state == state, "other frontends follow")
    finally:
        other.shutdown()


def test_another_frontend_has_no_loggers_and_asks_for_what_they_show(client, engine, place, sink, until):
    second = RemoteClient(place, 3, OPTIONS)
    try:
        assert (client.id_prefix, second.id_prefix) == ("request-", "request-3.")
        assert second.plan == client.plan
        second.add([null_request("a", [1], 5)], sink)
        sink.until_finished()
        client.reset_prefix_cache()
        (shown,) = second.expositions()
        assert shown == client.expositions()[0]
        assert shown.body == b"steps %d\n" % client.stats().num_steps
        until(lambda: second.stats() == client.stats(), "totals come with the pulse")
    finally:
        second.shutdown()


def test_a_logger_that_raises_is_switched_off(client, recorder, sink, caplog):
    recorder.record = None
    for name in "ab":
        client.add([null_request(name, [1], 3)], sink)
        assert len(tokens(sink.until_finished(), name)) == 3
    assert caplog.text.count("is switched off") == 1
    assert client.expositions() == []


def test_a_step_that_takes_too_long_is_a_stall_and_may_end(client, engine, sink, until):
    engine.core.gate.clear()
    client.add([null_request("a", [1], 1000)], sink)
    until(lambda: engine.progress.pulse().age > 0.1, "the step is being computed")
    calls = []

    def call():
        with pytest.raises(EngineDeadError) as raised:
            client.reset_prefix_cache()
        calls.append(raised)

    waiting = threading.Thread(target=call)
    waiting.start()
    with pytest.raises(EngineDeadError, match="the step that it computes has taken"):
        sink.until_finished()
    waiting.join(60)
    assert "stalled" in str(calls[0].value)
    assert client.health().state == "stalled"
    with pytest.raises(EngineDeadError, match="stalled"):
        client.check_health()
    with pytest.raises(EngineDeadError, match="stalled"):
        client.add([null_request("b", [1])], sink)
    client.abort(["a"])
    engine.core.gate.set()
    until(lambda: client.health().state == "ready")
    until(lambda: client._sinks.death is None)
    client.add([null_request("b", [1], 3)], sink)
    assert len(tokens(sink.until_finished(), "b")) == 3
    assert client.stats().finished == {"abort": 1, "length": 1}


def test_an_engine_that_fails_says_why(client, engine, sink, until):
    engine.core.fail.set()
    client.add([null_request("a", [1], 5)], sink)
    engine.thread.join(60)
    client._line._lost(client._line._connection)  # as its pipe would say when the process ends
    with pytest.raises(EngineDeadError, match="the device is gone"):
        sink.until_finished()
    with pytest.raises(EngineDeadError, match="the device is gone"):
        client.reset_prefix_cache()
    assert client.health().state == "dead"


def test_a_shutdown_fails_what_runs_and_closes_the_loggers(client, engine, sink, recorder):
    engine.core.gate.clear()
    client.add([null_request("a", [1], 1000)], sink)
    client.shutdown()
    client.shutdown()
    with pytest.raises(EngineDeadError, match="shut down"):
        sink.until_finished()
    with pytest.raises(EngineDeadError, match="shut down"):
        client.add([null_request("b", [1])], sink)
    assert recorder.closed == 1
    client.abort(["a"])


def test_loggers_that_cannot_be_made_stop_the_start(engine, place):
    def fail(plan):
        raise PluginError("no logger")

    threads = threading.active_count()
    with pytest.raises(PluginError, match="no logger"):
        RemoteClient(place, 0, OPTIONS, make_stats=fail)
    assert threading.active_count() <= threads
