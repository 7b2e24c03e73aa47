"""KERNELET_PLUGINS unset, empty, a list, +NAME; the block-list; opt-in offers."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest
from planted import Planted, good

from kernelet.config import PluginsConfig
from kernelet.contracts.executor import SchedulerOffer
from kernelet.contracts.sampling import LogitsProcessorOffer
from kernelet.errors import ConfigError, SelectionError, UnknownPluginError
from kernelet.kernel import Kernel

PROCESSOR = """
@hookimpl
def kernelet_logits_processors():
    return (LogitsProcessorOffer(name="shout", target="planted.shout:Shout"),)
"""


def shouting(name="shouting", more=""):
    return Planted(name, PROCESSOR + more, api={"sampling": "v1"})


@pytest.fixture
def three(site):
    site.install(good("one"), good("two"), shouting())
    return site.search_path


def states(kernel):
    return {r.name: str(r.state) for r in kernel.reports}


@pytest.mark.parametrize(
    "allow, block, active",
    [
        (None, (), {"core", "one", "two"}),
        ((), (), {"core"}),
        (("one",), (), {"core", "one"}),
        (("one", "core"), (), {"core", "one"}),
        (("+shouting",), (), {"core", "one", "two", "shouting"}),
        (("one", "+shouting"), (), {"core", "one", "shouting"}),
        (("one", "shouting"), (), {"core", "one", "shouting"}),
        (None, ("one",), {"core", "two"}),
        (("one", "two"), ("two",), {"core", "one"}),
        (None, ("core",), {"one", "two"}),
        (("+one", ""), (), {"core", "one", "two"}),
    ],
)
def test_which_run(three, allow, block, active):
    kernel = Kernel.boot(PluginsConfig(allow=allow, block=block), search_path=three)
    found = states(kernel)
    assert {name for name, state in found.items() if state == "active"} == active
    assert set(found) == {"core", "one", "two", "shouting"}
    assert all(state == "blocked" for name, state in found.items() if name not in active)


def test_a_listed_name_that_is_not_installed_stops_the_start(three):
    with pytest.raises(UnknownPluginError) as caught:
        Kernel.boot(PluginsConfig(allow=("one", "tow")), search_path=three)
    message = str(caught.value)
    assert "'tow' (did you mean two?)" in message
    for line in (
        f"one: kernelet-one 1.0 {three[0]}",
        f"two: kernelet-two 1.0 {three[0]}",
        "shouting: kernelet-shouting",
    ):
        assert line in message


def test_a_blocked_name_that_is_not_installed_is_a_remark(three, caplog):
    with caplog.at_level(logging.WARNING, "kernelet"):
        kernel = Kernel.boot(PluginsConfig(block=("tow",)), search_path=three)
    assert kernel.notices == ("KERNELET_PLUGINS_BLOCK names 'tow', which is not installed (did you mean two?)",)
    assert kernel.notices[0] in caplog.text


def test_what_the_list_left_out_is_named_when_it_is_missed(three):
    kernel = Kernel.boot(PluginsConfig(allow=("one",)), search_path=three)
    with pytest.raises(SelectionError) as caught:
        kernel.select(SchedulerOffer, "two")
    assert "two blocked: not in the list KERNELET_PLUGINS / --plugins" in str(caught.value)
    assert "Choices: fcfs (core), one (one), priority (core)" in str(caught.value)


def test_opt_in_and_not_named(three):
    kernel = Kernel.boot(PluginsConfig(), search_path=three)
    report = next(r for r in kernel.reports if r.name == "shouting")
    assert (report.state, report.row()["offers"]) == ("blocked", ["sampling:shout"])
    assert report.reason.startswith("opt-in and not named (it changes outputs)")
    assert "--logits-processors shout" in report.reason
    assert "KERNELET_PLUGINS=+shouting" in report.reason
    assert kernel.offers(LogitsProcessorOffer) == ()
    with pytest.raises(SelectionError, match="opt-in and not named"):
        kernel.select(LogitsProcessorOffer, "shout")


@pytest.mark.parametrize(
    "config",
    [PluginsConfig(allow=("+shouting",)), PluginsConfig(logits_processors=("shout",))],
    ids=["plugin", "offer"],
)
def test_opt_in_and_named(three, config):
    kernel = Kernel.boot(config, search_path=three)
    assert kernel.select(LogitsProcessorOffer, "shout").chosen.plugin == "shouting"
    assert states(kernel)["shouting"] == "active"


def test_what_is_not_opt_in_of_an_unnamed_plugin_is_usable(site):
    both = shouting("both", good("both").source)
    site.install(replace(both, api={"sampling": "v1", "executor": "v1"}))
    kernel = Kernel.boot(PluginsConfig(), search_path=site.search_path)
    assert kernel.select(SchedulerOffer, "both").chosen.plugin == "both"
    report = next(r for r in kernel.reports if r.name == "both")
    assert report.state == "active"
    assert {o.name: str(o.state) for o in report.offers} == {"both": "active", "shout": "blocked"}


OPTIONS = """
@hookimpl
def kernelet_options():
    return PluginOptions(schema={"threads": Option(type=int, default=2), "mode": Option(type=str, choices=("a", "b"))})
"""


def test_options_reach_the_plugin(site):
    site.install(Planted("tuned", OPTIONS))
    kernel = Kernel.boot(PluginsConfig(settings={"tuned": {"threads": "4"}}), search_path=site.search_path)
    assert kernel.settings("tuned").values == {"threads": 4, "mode": None}


@pytest.mark.parametrize(
    "settings, message",
    [
        (
            {"tuned": {"treads": "4"}},
            r"no such option \(did you mean threads\?\). Options of tuned: mode \(str\), threads \(int\)",
        ),
        ({"tuned": {"threads": "four"}}, "--set tuned.threads: must be a whole number, not 'four'"),
        ({"tuned": {"mode": "c"}}, "must be one of a, b"),
        ({"tunde": {"threads": 4}}, r"no plugin has this name \(did you mean tuned\?\). Plugins with options: tuned"),
    ],
)
def test_wrong_options_stop_the_start(site, settings, message):
    site.install(Planted("tuned", OPTIONS))
    with pytest.raises(ConfigError, match=message):
        Kernel.boot(PluginsConfig(settings=settings), search_path=site.search_path)


def test_options_of_a_plugin_that_is_left_out(site):
    site.install(Planted("tuned", OPTIONS))
    with pytest.raises(ConfigError, match="plugin 'tuned' is not active: named in KERNELET_PLUGINS_BLOCK"):
        Kernel.boot(PluginsConfig(block=("tuned",), settings={"tuned": {"threads": 4}}), search_path=site.search_path)


def test_who_might_know_a_model_and_may_not_run_is_told(site):
    site.install(good("one"), good("models-one", api={"model": "v1"}))
    kernel = Kernel.boot(PluginsConfig(allow=("one",)), search_path=site.search_path)
    assert kernel.absent_sources().endswith("\n  models-one blocked: not in the list KERNELET_PLUGINS / --plugins")
    assert Kernel.boot(PluginsConfig(), search_path=site.search_path).absent_sources() == ""
