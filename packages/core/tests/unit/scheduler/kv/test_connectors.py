from __future__ import annotations

import pytest
from kv_world import KVWorld, Side

from kernelet.contracts.kv import LATER, KVStep, Ticket
from kernelet.errors import ParameterError, PluginError
from kernelet.scheduler.kv.connectors import Connector, Connectors, merged

STEP = KVStep(step=0)


class One:
    request_id = "a"


@pytest.fixture
def several():
    sides = Side(), Side(), Side(role="producer")
    return sides, Connectors([Connector(name=str(index), side=side) for index, side in enumerate(sides)])


def test_the_first_that_has_something_loads(several):
    (first, second, third), connectors = several
    second.answers["a"] = 4
    third.answers["a"] = 9
    promise = connectors.ask(One, 0)
    assert (promise.connector.name, promise.ticket) == ("1", Ticket(num_tokens=4))
    assert third.calls == []
    connectors.settle(One, promise.connector)
    assert first.did("abort") == second.did("abort") == []


def test_later_of_an_earlier_one_waits_for_it(several):
    (first, second, _), connectors = several
    first.answers["a"] = LATER
    second.answers["a"] = 4
    assert connectors.ask(One, 0) is LATER
    assert second.calls == []
    first.answers["a"] = None
    assert connectors.ask(One, 0).connector.name == "1"


def test_what_one_refuses_those_before_it_forget(several):
    (first, second, third), connectors = several
    second.refuses = ParameterError("kv_transfer_params.a", "no")
    with pytest.raises(ParameterError, match=r"^kv_transfer_params.a: no$"):
        connectors.on_new_request(One)
    assert (first.did("abort"), second.did("abort"), third.calls) == ([("abort", "a")], [], [])
    assert not connectors.off


def test_what_was_said_and_is_not_loaded_is_given_back_once(several):
    (first, second, _), connectors = several
    second.answers["a"] = 4
    connectors.ask(One, 0)
    first.answers["a"] = 2  # it changed its mind, which it must not
    promise = connectors.ask(One, 0)
    connectors.settle(One, promise.connector)
    connectors.settle(One)
    assert (first.did("abort"), second.did("abort")) == ([], [("abort", "a")])


def test_all_save_and_all_are_told():
    world = KVWorld(Side(), Side())
    world.add("a", 6, max_tokens=2)
    world.finish()
    first, second = world.sides
    assert first.calls == second.calls != []
    assert [len(step.scheduled) for step in first.steps] == [len(step.scheduled) for step in second.steps] == [1, 1, 0]


def test_those_that_are_off_are_named_once(several):
    (_, second, _), connectors = several
    second.failing["build_connector_meta"] = 0
    assert (connectors.off, connectors.take_off()) == ({}, [])
    assert set(connectors.build_connector_meta(STEP)) == {"0", "1", "2"}
    assert set(connectors.off) == {"1"}
    assert [one.name for one in connectors.take_off()] == ["1"]
    assert connectors.take_off() == []


def test_all_forget_and_who_cannot_is_named(several):
    (first, second, third), connectors = several
    second.failing["reset_cache"] = 0
    with pytest.raises(PluginError, match="KV connector 1 has not forgotten what it keeps"):
        connectors.reset_cache()
    assert first.did("reset") == third.did("reset") == [("reset",)]


def test_what_they_say_to_a_client():
    assert merged(None, None) is None
    assert merged({"a": 1}, None) == merged(None, {"a": 1}) == {"a": 1}
    assert merged({"a": 1}, {"b": 2}) == {"a": 1, "b": 2}
