"""A module of our own is recorded here; tests/devices does it with torch's."""

from __future__ import annotations

import contextlib
import types

import pytest

from kernelet.testing.platform.recording import Call
from kernelet.testing.platform.recording_module import RecordingModule


class Stream:
    kind = "stream"

    def __init__(self, device=None, priority=0):
        raise AssertionError("there is no device")

    def wait(self, other, *, deep=False) -> None: ...

    def record(self) -> Event: ...

    @staticmethod
    def latest(limit): ...

    def __enter__(self): ...

    def __exit__(self, *_): ...


class Event:
    def query(self) -> bool: ...


def current_stream(device: NotThere = None) -> Stream: ...  # noqa: F821 - as annotations for type checkers only


def use(stream) -> contextlib.AbstractContextManager: ...


def memory(device, /): ...


@pytest.fixture
def real():
    module = types.ModuleType("acme.device")
    inner = types.ModuleType("acme.device.graphs")
    inner.capture = lambda fn, pool=None: None
    for one in (Stream, Event, current_stream, use, memory):
        setattr(module, one.__name__, one)
    module.graphs, module.COUNT, module.builtin = inner, 3, dict.update
    return module


def test_calls_are_kept_by_name(real):
    fake = RecordingModule(real, {"memory": (5, 9), "graphs": None})
    assert fake.memory(0) == (5, 9)
    stream = fake.Stream(priority=-1)
    event = stream.record()
    assert event.query() is None
    stream.wait(event, deep=True)
    fake.graphs.capture(print, pool=1)
    with fake.current_stream() as current, fake.use(current):
        pass
    assert fake.calls == [
        Call("memory", {"device": 0}),
        Call("Stream", {"priority": -1}),
        Call("Stream.record"),
        Call("Event.query"),
        Call("Stream.wait", {"other": event, "deep": True}),
        Call("capture", {"fn": print, "pool": 1}),
        Call("current_stream"),
        Call("Stream.__enter__"),
        Call("use", {"stream": current}),
        Call("Stream.__exit__"),
    ]
    assert len(fake.take()) == 10
    assert fake.calls == []


def test_answers_may_be_functions(real):
    fake = RecordingModule(real, {"memory": lambda device: device * 2, "Event.query": True, "Stream": "s", "COUNT": 4})
    assert fake.memory(4) == 8
    assert fake.Event().query() is True
    assert fake.Stream() == "s"
    assert fake.COUNT == 4


@pytest.mark.parametrize(
    "call",
    [
        lambda fake: fake.memory(),
        lambda fake: fake.memory(device=0),
        lambda fake: fake.Stream(0, 1, 2),
        lambda fake: fake.Stream().wait(),
        lambda fake: fake.Stream().wait(1, True),
        lambda fake: fake.Stream().record(1),
        lambda fake: fake.Stream().latest(),
    ],
)
def test_wrong_arguments_are_refused(real, call):
    with pytest.raises(TypeError, match=r"acme\.device\."):
        call(RecordingModule(real))


def test_wrong_names_are_refused(real):
    fake = RecordingModule(real)
    with pytest.raises(AttributeError, match="synchronise"):
        fake.synchronise()
    with pytest.raises(AttributeError, match="wait_for"):
        fake.Stream().wait_for(1)
    with pytest.raises(TypeError, match="no context manager"), fake.Event():
        pass
    with pytest.raises(LookupError, match=r"COUNT is no function: give it a value in `answers`"):
        _ = fake.COUNT


def test_what_states_no_signature_needs_an_answer_that_does(real):
    with pytest.raises(LookupError, match="states no signature"):
        RecordingModule(real).builtin(1)
    fake = RecordingModule(real, {"builtin": lambda one: one + 1})
    assert fake.builtin(1) == 2
    with pytest.raises(TypeError):
        fake.builtin(1, 2)


def test_signatures_are_the_real_ones(real):
    import inspect

    fake = RecordingModule(real)
    assert inspect.signature(fake.current_stream) == inspect.signature(real.current_stream)
    assert fake.Stream.__name__ == "Stream"
