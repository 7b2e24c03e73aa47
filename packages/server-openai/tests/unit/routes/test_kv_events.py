from __future__ import annotations

from types import SimpleNamespace

from asgi_calls import get
from scripted_engine import ScriptedEngine

from kernelet.config import KVEventsConfig


class Publishing(ScriptedEngine):
    events = KVEventsConfig(enable_kv_cache_events=True, endpoint="tcp://*:5557", topic="kv")

    @property
    def config(self):
        return SimpleNamespace(**vars(super().config), kv_events=self.events)


def test_where_events_are(make_app):
    found = get(make_app(Publishing()), "/kv_event_sources").json()
    assert set(found) == {"0"}
    assert found["0"]["endpoint"] == "tcp://*:5557"
    assert (found["0"]["publisher"], found["0"]["topic"], found["0"]["replay_endpoint"]) == ("zmq", "kv", None)


def test_nothing_is_published(make_app):
    engine = Publishing()
    engine.events = KVEventsConfig()
    assert get(make_app(engine), "/kv_event_sources").json() == {}


def test_of_an_engine(make_app, engine):
    assert get(make_app(engine), "/kv_event_sources").json() == {}
