"""The server against sockets of the test; ``RemoteClient`` has its own tests."""

from __future__ import annotations

import os
from functools import partial

import pytest
import zmq

from kernelet.contracts.sampling import SamplerParams
from kernelet.engine.remote.connection import Connection
from kernelet.engine.remote.messages import (
    Abort,
    Add,
    Call,
    Died,
    Goodbye,
    Hello,
    Reply,
    Show,
    Shown,
    Started,
    StateChange,
    Step,
)
from kernelet.request.status import FinishReason
from kernelet.testing.null.harness import null_request
from kernelet.testing.null.tokens import generate

GREEDY = SamplerParams(seed=0, temperature=0.0)


class Frontend:
    def __init__(self, context, place, index):
        name = f"frontend-{index}"
        self.close_pipe = partial(os.close, place.make_pipe(name))
        self.connection = Connection(context, place, 0, Hello(index=index, alive=name), None)
        self.waiting = []
        self.started = self.hear(Started)

    def say(self, message):
        self.connection.send(message)

    def hear(self, kind):
        """The next message of a kind; others are passed over."""
        while True:
            while self.waiting:
                message = self.waiting.pop(0)
                if isinstance(message, kind):
                    return message
            assert self.connection.data.poll(60_000), kind
            self.waiting = list(self.connection.receive())

    def outputs(self, count=1):
        """Until so many choices ended."""
        found = []
        while count:
            new = self.hear(Step).outputs
            found += new
            count -= sum(output.finish_reason is not None for output in new)
        return found


@pytest.fixture
def frontend(engine, place):
    context, made = zmq.Context(), []

    def make(index):
        made.append(Frontend(context, place, index))
        return made[-1]

    yield make
    for one in made:
        one.connection.close()
        one.close_pipe()
    context.term()


def tokens(outputs, name):
    return [token for output in outputs if output.request_id == name for token in output.token_ids]


def test_statistics_go_to_the_first_frontend_only_and_come_with_the_outputs(frontend, engine):
    first, second = frontend(0), frontend(1)
    second.say(Add(requests=[null_request("b", [2], 4)]))
    steps, finished = [], []
    while not finished:
        message = first.hear(Step)
        steps += message.steps
        finished += message.finished
        assert message.outputs == []
    assert (len(steps), [one.request_id for one in finished]) == (4, ["b"])
    outputs = second.outputs()
    assert tokens(outputs, "b") == generate([2], GREEDY, 260, 4)
    first.say(Add(requests=[null_request("a", [1], 1)]))
    while not (both := first.hear(Step)).outputs:
        pass  # a step that released what had ended
    assert (len(both.outputs), len(both.steps), len(both.finished)) == (1, 1, 1)
    assert engine.progress.pulse().totals.num_decode_tokens == 5


def test_a_step_is_one_message_for_each_frontend(frontend, engine):
    one = frontend(1)
    one.say(Add(requests=[null_request(name, [1], 5) for name in "abcdefgh"]))
    steps = [one.hear(Step) for _ in range(5)]
    assert [len(step.outputs) for step in steps] == [8] * 5
    assert all(step.steps == step.finished == [] for step in steps)


def test_names_and_aborts_belong_to_their_frontend(frontend, engine, until):
    first, second = frontend(0), frontend(1)
    engine.core.gate.clear()
    first.say(Add(requests=[null_request("same", [1], 1000)]))
    until(lambda: "same" in engine.server._owners)
    second.say(Add(requests=[null_request("same", [1]), null_request("own", [1], 2)]))
    second.say(Abort(request_ids=["same"], reason=FinishReason.ABORT))
    engine.core.gate.set()
    refused, *own = second.outputs(2)
    assert "'same' is in use in another frontend" in refused.error
    assert len(tokens(own, "own")) == 2
    assert "same" in engine.server._owners
    first.say(Abort(request_ids=["same", "unknown"], reason=FinishReason.STOP))
    until(lambda: not engine.server._owners)
    while not (finished := first.hear(Step).finished) or finished[0].request_id == "own":
        pass
    assert [one.finish_reason for one in finished] == ["stop"]
    assert engine.core.cache.capacity.usage == 0.0


def test_calls_are_answered_and_what_happened_before_is_known_before(frontend, engine):
    one = frontend(0)
    one.say(Call(number=1, name="control", arguments=["echo", "x", b"\xff"]))
    one.say(Call(number=2, name="control", arguments=["nobody", "x", b""]))
    one.say(Call(number=3, name="nonsense"))
    one.say(Call(number=4, name="sleep", arguments=["deep"]))
    one.say(Call(number=5, name="sleep"))
    replies = [one.hear(Reply) for _ in range(5)]
    assert [reply.number for reply in replies] == [1, 2, 3, 4, 5]
    assert (replies[0].value, replies[0].failure) == (b"x\xff", None)
    assert [reply.failure.kinds[0] for reply in replies[1:3]] == ["kernelet.errors:PluginError"] * 2
    assert [reply.failure.kinds[0] for reply in replies[3:]] == ["kernelet.errors:ParameterError"] * 2
    one.say(Add(requests=[null_request("a", [1], 5000)]))
    one.say(Abort(request_ids=["a"], reason=FinishReason.ABORT))
    one.say(Call(number=6, name="reset_prefix_cache"))
    seen = []
    while not seen or not isinstance(seen[-1], Reply):
        seen.append(one.hear((Step, Reply)))
    assert [record.request_id for step in seen[:-1] for record in step.finished] == ["a"]


def test_what_loggers_show_is_asked_of_the_first(frontend, engine):
    second = frontend(1)
    second.say(Call(number=7, name="expositions"))
    assert second.hear(Reply).value == [], "there is no first"
    first = frontend(0)
    second.say(Call(number=8, name="expositions"))
    show = first.hear(Show)
    first.say(Shown(number=show.number, expositions=[("text/plain", b"x 1\n")]))
    first.say(Shown(number=show.number, expositions=[("text/plain", b"again")]))
    assert second.hear(Reply) == Reply(number=8, value=[["text/plain", b"x 1\n"]])
    assert engine.server._shows == {}


@pytest.mark.parametrize("how", ["goodbye", "death"])
def test_who_leaves_has_its_requests_aborted(frontend, engine, how, until):
    first, second = frontend(0), frontend(1)
    second.say(Add(requests=[null_request("b", [1], 100_000), null_request("c", [1], 100_000)]))
    second.hear(Step)
    if how == "death":
        second.close_pipe()
        second.close_pipe = lambda: None
    else:
        second.say(Goodbye(stop=True))
    until(lambda: len(engine.board.peers) == 1)
    ended = []
    while len(ended) < 2:
        ended += first.hear(Step).finished
    assert {one.finish_reason for one in ended} == {"abort"}
    assert engine.server._owners == {}
    assert engine.core.cache.capacity.usage == 0.0
    assert engine.thread.is_alive(), "only the first may stop the engine"


def test_who_does_not_read_has_its_requests_aborted(place, running_engine, until):
    with running_engine(place, max_backlog=20_000) as engine:
        context = zmq.Context()
        first, second = Frontend(context, place, 0), Frontend(context, place, 1)
        first.connection.read_every = second.connection.read_every = 1000
        second.say(Add(requests=[null_request("slow", [1], 100_000)]))
        ended = []
        while not ended:
            ended += first.hear(Step).finished
        assert [one.finish_reason for one in ended] == ["abort"]
        assert engine.server._owners == {}
        assert max(peer.unread for peer in engine.board.peers) < 25_000
        (last,) = [output for output in second.outputs() if output.finish_reason is not None]
        assert "bytes of outputs unread" in last.error
        second.say(Add(requests=[null_request("again", [1], 3)]))
        assert len(tokens(second.outputs(), "again")) == 3
        for one in (first, second):
            one.connection.close()
            one.close_pipe()
        context.term()


def test_an_engine_that_fails_says_why_to_everybody(frontend, engine):
    first, second = frontend(0), frontend(1)
    engine.core.fail.set()
    second.say(Add(requests=[null_request("b", [1], 5)]))
    for one in (first, second):
        assert "the device is gone" in one.hear(Died).reason
    engine.thread.join(60)
    assert "the device is gone" in str(engine.error)


def test_a_call_that_waits_is_told_of_the_end(frontend, engine):
    first = frontend(0)
    first.say(Add(requests=[null_request("a", [1], 100_000)]))
    first.say(Call(number=1, name="drain"))
    first.hear(Step)
    first.say(Goodbye(stop=True))
    engine.thread.join(60)
    assert engine.error is None


def test_an_idle_engine_looks_after_its_workers_and_a_busy_one_says_so(frontend, engine, until):
    one = frontend(0)
    until(lambda: engine.told.count("health") >= 1)
    assert not engine.progress.pulse().busy
    engine.core.gate.clear()
    one.say(Add(requests=[null_request("a", [1], 2)]))
    until(lambda: engine.progress.pulse().busy)
    until(lambda: engine.progress.pulse().age > 0.05)
    engine.core.gate.set()
    one.outputs()
    until(lambda: not engine.progress.pulse().busy)


def test_everybody_is_told_of_another_state_before_the_reply_to_its_call(frontend, engine):
    one, other = frontend(0), frontend(1)
    for number, (name, state) in enumerate((("sleep", "asleep"), ("wake_up", "ready"), ("drain", "draining"))):
        one.say(Call(number=number, name=name, arguments=[1] if name == "sleep" else []))
        assert one.hear((StateChange, Reply)) == StateChange(state=state)
        assert one.hear((StateChange, Reply)) == Reply(number=number)
        assert other.hear(StateChange).state == state
    assert (one.started.state, frontend(2).started.state) == ("ready", "draining")
