from __future__ import annotations

import logging

import pytest

from kernelet.contracts.executor import SchedulerOffer
from kernelet.contracts.lifecycle import ProcessRole
from kernelet.errors import PluginError
from kernelet.hookspecs import hookimpl
from kernelet.kernel.hooks import Hooks
from kernelet.kernel.host import PluginHost
from kernelet.kernel.lifecycle import Lifecycle


class Listener:
    def __init__(self, name, heard, *, fails=()):
        self.name, self.heard, self.fails = name, heard, fails

    def note(self, event):
        self.heard.append((self.name, event))
        if event in self.fails:
            raise OSError(event)

    @hookimpl
    def kernelet_process_started(self, role, rank):
        self.note(f"process started {role} {rank}")

    @hookimpl
    def kernelet_engine_started(self):
        self.note("engine started")

    @hookimpl
    def kernelet_engine_stopped(self):
        self.note("engine stopped")

    @hookimpl
    def kernelet_process_stopped(self, role, rank):
        self.note(f"process stopped {role} {rank}")

    @hookimpl
    def kernelet_schedulers(self):
        return (SchedulerOffer(name=self.name, target="m:X", priority=-100),)


def lifecycle(*listeners):
    host = PluginHost()
    for listener in listeners:
        host.register(listener.name, listener)
    failed = {"start": [], "stop": []}
    return failed, Lifecycle(
        Hooks(host),
        ProcessRole.WORKER,
        lambda plugin, failure: failed["start"].append((plugin, failure.reason)),
        lambda plugin, failure: failed["stop"].append((plugin, failure.reason)),
    )


def test_a_whole_life_in_order():
    heard = []
    _, events = lifecycle(Listener("b", heard), Listener("a", heard))
    events.process_started(3)
    events.engine_started()
    events.engine_stopped()
    events.process_stopped(3)
    assert heard == [
        ("a", "process started worker 3"),
        ("b", "process started worker 3"),
        ("a", "engine started"),
        ("b", "engine started"),
        ("b", "engine stopped"),
        ("a", "engine stopped"),
        ("b", "process stopped worker 3"),
        ("a", "process stopped worker 3"),
    ]


def test_one_that_fails_keeps_nobody_from_hearing():
    heard = []
    failed, events = lifecycle(Listener("a", heard, fails={"engine started", "engine stopped"}), Listener("b", heard))
    events.engine_started()
    events.engine_stopped()
    assert [name for name, _ in heard] == ["a", "b", "b", "a"]
    assert failed == {"start": [("a", "OSError: engine started")], "stop": [("a", "OSError: engine stopped")]}


@pytest.fixture
def installed(monkeypatch, tmp_path):
    """A kernel with listeners as if they were installed: found, not named."""
    from kernelet.config import PluginsConfig
    from kernelet.kernel import Kernel
    from kernelet.kernel import start as starting
    from kernelet.kernel.discovery import Candidate, Discovery

    def start(*listeners, **config):
        import json

        candidates = []
        for listener in listeners:
            monkeypatch.setattr(json, listener.name, listener, raising=False)
            candidates.append(Candidate(name=listener.name, entry_point=f"json:{listener.name}", distribution="d"))
        monkeypatch.setattr(starting, "discover", lambda path: Discovery(candidates=tuple(candidates)))
        return Kernel.boot(PluginsConfig(**config))

    return start


def test_a_plugin_that_fails_at_the_start_is_taken_out_wholly(installed, caplog):
    heard = []
    kernel = installed(Listener("a", heard, fails={"process started frontend 0"}), Listener("b", heard))
    assert {e.name for e in kernel.manifest.plugins} == {"core", "a", "b"}
    with caplog.at_level(logging.WARNING):
        kernel.lifecycle.process_started()
    kernel.lifecycle.engine_started()
    assert heard[2:] == [("b", "engine started")]
    assert {o.offer.name for o in kernel.offers(SchedulerOffer)} == {"b", "fcfs", "priority"}
    assert {e.name for e in kernel.manifest.plugins} == {"core", "b"}
    assert {r.name: str(r.state) for r in kernel.reports} == {"a": "failed", "b": "active", "core": "active"}
    assert "plugin 'a'" in caplog.text


def test_the_start_stops_if_it_was_named(installed):
    kernel = installed(Listener("a", [], fails={"process started frontend 0"}), allow=("+a",))
    with pytest.raises(PluginError, match="asked for by name"):
        kernel.lifecycle.process_started()


def test_the_start_stops_if_something_of_it_is_in_use(installed):
    kernel = installed(Listener("a", [], fails={"process started frontend 0"}))
    kernel.select(SchedulerOffer, "a")
    with pytest.raises(PluginError, match="executor:a of it is in use"):
        kernel.lifecycle.process_started()


def test_stopping_never_raises(installed, caplog):
    kernel = installed(Listener("a", [], fails={"engine stopped", "process stopped frontend 0"}), allow=("+a",))
    with caplog.at_level(logging.WARNING):
        kernel.lifecycle.engine_stopped()
        kernel.lifecycle.process_stopped()
    assert caplog.text.count("failed while stopping") == 2
