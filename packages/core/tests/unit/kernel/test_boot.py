from __future__ import annotations

import logging

import pytest

from kernelet.config import PluginsConfig
from kernelet.contracts.executor import SchedulerOffer
from kernelet.contracts.lifecycle import PluginOptions
from kernelet.contracts.offer import Option
from kernelet.errors import DuplicatePluginError, PluginError
from kernelet.hookspecs import hookimpl
from kernelet.kernel.allow import AllowList
from kernelet.kernel.boot import boot, fail
from kernelet.kernel.discovery import Candidate
from kernelet.kernel.failure import Failure
from kernelet.kernel.loader import builtin_candidate
from kernelet.kernel.plugin_files import file_candidates
from kernelet.kernel.record import Record


class Plugin:
    """Offers scheduling policies of the given names."""

    def __init__(self, *names, options=None):
        self.names = names
        self.schema = options

    @hookimpl
    def kernelet_options(self):
        return PluginOptions(schema=self.schema or {})

    @hookimpl
    def kernelet_schedulers(self):
        return tuple(SchedulerOffer(name=name, target="m:X") for name in self.names)


def installed(name, plugin, monkeypatch):
    """A candidate as if it were installed: merely found, not named."""
    import json

    monkeypatch.setattr(json, name, plugin, raising=False)
    return Candidate(name=name, entry_point=f"json:{name}", distribution=f"{name}-dist", version="1", path="/p")


def schedulers(booted):
    return {o.offer.name: o.plugin for o in booted.registry.offers(SchedulerOffer)}


def test_everything_of_a_plugin_is_collected(monkeypatch):
    plugin = Plugin("x", options={"n": Option(type=int, default=1)})
    booted = boot([builtin_candidate(), installed("p", plugin, monkeypatch)], AllowList(), PluginsConfig())
    assert schedulers(booted) == {"fcfs": "core", "priority": "core", "x": "p"}
    assert booted.settings["p"].values == {"n": 1}
    assert booted.settings["core"].values == {}
    assert {r.name: r.hooks for r in booted.records}["p"] == {"kernelet_options", "kernelet_schedulers"}


def test_a_name_belongs_to_the_core_then_to_who_was_named_then_by_name(monkeypatch, caplog):
    candidates = [
        installed("a", Plugin("x"), monkeypatch),
        builtin_candidate(),
        installed("b", Plugin("x"), monkeypatch),
        installed("c", Plugin("fcfs", "only-c"), monkeypatch),
    ]
    assert schedulers(boot(candidates, AllowList(), PluginsConfig())) == {"fcfs": "core", "priority": "core", "x": "a"}
    with caplog.at_level(logging.WARNING):
        booted = boot(candidates, AllowList(named=frozenset({"b"})), PluginsConfig())
    assert schedulers(booted) == {"fcfs": "core", "priority": "core", "x": "b"}
    assert "executor 'x' is offered by the plugins 'b' and 'a'" in caplog.text


def test_a_named_one_that_takes_a_taken_name_stops_the_start(monkeypatch):
    candidates = [builtin_candidate(), installed("c", Plugin("fcfs"), monkeypatch)]
    with pytest.raises(DuplicatePluginError, match="'core' and 'c'") as caught:
        boot(candidates, AllowList(named=frozenset({"c"})), PluginsConfig())
    advice = str(caught.value).partition("To do: ")[2]
    assert advice.startswith("give its offer another name, or run without it: KERNELET_PLUGINS_BLOCK=c.")
    assert "BLOCK=core" not in str(caught.value)


FILE = """
from kernelet.contracts.executor import SchedulerOffer
from kernelet.hookspecs import hookimpl

@hookimpl
def kernelet_schedulers():
    return (SchedulerOffer(name="x", target=f"{__name__}:X"),)
"""


def test_of_one_name_the_offer_of_a_file_runs_and_a_package_keeps_its_others(tmp_path, monkeypatch, caplog):
    (tmp_path / "z.py").write_text(FILE)
    installed_ = installed("a", Plugin("x", "y"), monkeypatch)
    booted = boot([installed_, *file_candidates([str(tmp_path / "z.py")])], AllowList(), PluginsConfig())
    assert schedulers(booted) == {"x": "z", "y": "a"}
    assert "'x' of plugin 'a' is replaced by that of" in caplog.text
    (report,) = (record.report() for record in booted.records if record.name == "a")
    assert {offer.name: offer.reason for offer in report.offers} == {
        "x": f"replaced by that of {tmp_path / 'z.py'}",
        "y": "",
    }


def test_a_handed_plugin_that_fails_stops_the_start():
    class Fails:
        @hookimpl
        def kernelet_schedulers(self):
            raise OSError("x")

    with pytest.raises(PluginError, match="OSError: x") as caught:
        boot([Candidate(name="h", entry_point="", instance=Fails())], AllowList(), PluginsConfig())
    assert isinstance(caught.value.__cause__, OSError)


def test_the_cores_name_stays_its_own(monkeypatch):
    booted = boot([builtin_candidate(), installed("core", Plugin("x"), monkeypatch)], AllowList(), PluginsConfig())
    assert schedulers(booted) == {"fcfs": "core", "priority": "core"}
    assert [(r.candidate.distribution, str(r.state)) for r in booted.records] == [
        ("kernelet-core", "active"),
        ("core-dist", "failed"),
    ]
    assert "the core's own" in booted.records[1].reason


def test_two_objects_of_one_name():
    candidates = [Candidate(name="Plugin", entry_point="", instance=Plugin(name)) for name in ("x", "y")]
    with pytest.raises(DuplicatePluginError, match="called by its attribute `name`"):
        boot(candidates, AllowList(), PluginsConfig())


def test_a_plugin_is_asked_no_more_once_it_failed(monkeypatch):
    asked = []

    class Fails:
        @hookimpl
        def kernelet_options(self):
            raise OSError("x")

        @hookimpl
        def kernelet_schedulers(self):
            asked.append(1)
            return ()

    boot([installed("f", Fails(), monkeypatch)], AllowList(), PluginsConfig())
    assert asked == []


def test_what_to_do_about_a_failure():
    record = Record(candidate=Candidate(name="p", entry_point="m", distribution="d"))
    fail(record, Failure.of(ModuleNotFoundError("No module named 'x'", name="x")))
    assert record.fix == (
        "install the package that provides the module 'x', or run without it: KERNELET_PLUGINS_BLOCK=p"
    )
