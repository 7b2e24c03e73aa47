from __future__ import annotations

import dataclasses

import msgspec
import pytest

from kernelet.contracts.offer import Settings
from kernelet.contracts.serving import (
    Endpoint,
    EndpointOffer,
    EngineClient,
    EngineControl,
    EngineHealth,
    EngineRequests,
    Exposition,
    ParsersInfo,
    Server,
    ServerContext,
    ServerOffer,
)
from kernelet.engine.async_llm import AsyncLLM


def test_a_client_must_have_every_call():
    with pytest.raises(TypeError, match="generate"):
        type("Half", (EngineClient,), {})()


def test_the_asynchronous_engine_is_one():
    assert issubclass(AsyncLLM, EngineClient)
    assert EngineClient.__abstractmethods__ == EngineRequests.__abstractmethods__ | EngineControl.__abstractmethods__


def test_an_engine_parses_nothing_unless_it_says_so():
    assert EngineRequests.parsers.fget(object()) == ParsersInfo(tool=None, reasoning=None, auto_tool_choice=False)


@pytest.mark.parametrize("state", ["starting", "ready", "stalled", "dead", "draining", "asleep"])
def test_only_a_ready_engine_is_ready(state):
    health = EngineHealth(state=state, detail="why", age=1.5)
    assert health.ready is (state == "ready")
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(health), type=EngineHealth) == health


def test_metrics_travel():
    shown = Exposition(content_type="text/plain", body=b"a 1\n")
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(shown), type=Exposition) == shown


def test_what_a_server_must_have():
    assert Server.__abstractmethods__ == {"run", "stop", "stop_now"}
    context = ServerContext(engine=object(), served_model_names=("a",))
    assert (context.endpoints, dict(context.io_processors), context.num_frontends) == ((), {}, 1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        context.frontend_index = 1


def test_what_an_endpoint_must_have():
    assert Endpoint.__abstractmethods__ == {"app"}

    class One(Endpoint):
        app = None

    engine, settings = object(), Settings(plugin="p")
    assert (One(settings, engine).engine, One(settings, engine).settings) == (engine, settings)


def test_offers_take_nothing_unless_they_say_so():
    server, endpoint = ServerOffer(name="a", target="m:A"), EndpointOffer(name="b", target="m:B", prefix="/b")
    assert (dict(server.flags), server.paths, endpoint.required_tasks) == ({}, (), ())
