"""A wrong plugin between two good ones: they load, it is reported; asked for by name, it stops the start."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest
from planted import BAD, good

from kernelet import errors
from kernelet.config import PluginsConfig
from kernelet.contracts.cache import CachePolicyOffer
from kernelet.contracts.executor import SchedulerOffer
from kernelet.kernel import Kernel

CASES = [pytest.param(bad, id=name.replace(" ", "-")) for name, bad in BAD.items()]


@pytest.fixture
def between(site):
    def install(bad):
        site.install(good("a-good"), *bad.plugins, good("c-good"))
        return site.search_path

    return install


def schedulers(kernel):
    return {owned.offer.name: owned.plugin for owned in kernel.offers(SchedulerOffer)}


@pytest.mark.parametrize("bad", CASES)
def test_the_good_ones_load_and_the_bad_one_is_reported(bad, between, site, caplog):
    with caplog.at_level(logging.WARNING, "kernelet"):
        kernel = Kernel.boot(PluginsConfig(), search_path=between(bad))
    reports = {(r.name, r.distribution): r for r in kernel.reports}

    assert reports["a-good", "kernelet-a-good"].state == "active"
    assert reports["c-good", "kernelet-c-good"].state == "active"
    assert schedulers(kernel) == {"a-good": "a-good", "c-good": "c-good", "fcfs": "core", "priority": "core"}

    for plugin in bad.plugins:
        report = reports["bad", plugin.dist]
        assert report.state == bad.state
        assert report.version == plugin.version
        assert report.entry_point == plugin.module
        assert bad.reason in report.reason
        assert bad.fix in report.fix
        assert "\n" not in report.reason
        assert site.imported(plugin) == bad.imported
        warning = next(r.getMessage() for r in caplog.records if f"({plugin.dist} " in r.getMessage())
        for part in (plugin.dist, plugin.version, f"bad = {plugin.module}", bad.reason, bad.fix):
            assert part in warning


@pytest.mark.parametrize("bad", CASES)
def test_nothing_of_it_stays_registered(bad, between):
    kernel = Kernel.boot(PluginsConfig(), search_path=between(bad))
    assert [owned.plugin for owned in kernel.offers(CachePolicyOffer)] == ["core"]
    assert "bad" not in {entry.name for entry in kernel.manifest.plugins}
    with pytest.raises(errors.PluginError, match="not active"):
        kernel.settings("bad")
    # the others still hear events, and the bad one is not called
    kernel.lifecycle.process_started()
    kernel.lifecycle.engine_started()
    kernel.lifecycle.process_stopped()


@pytest.mark.parametrize("bad", CASES)
@pytest.mark.parametrize("allow", [("+bad",), ("a-good", "bad", "c-good")], ids=["added", "listed"])
def test_asked_for_by_name_it_stops_the_start(bad, allow, between):
    with pytest.raises(getattr(errors, bad.error)) as caught:
        Kernel.boot(PluginsConfig(allow=allow), search_path=between(bad))
    assert type(caught.value).__name__ == bad.error
    message = str(caught.value)
    plugin = bad.plugins[0]
    for part in (plugin.dist, plugin.version, f"bad = {plugin.module}", bad.reason, bad.fix, "asked for by name"):
        assert part in message


@pytest.mark.parametrize("bad", CASES)
def test_blocked_it_is_not_imported(bad, between, site):
    kernel = Kernel.boot(PluginsConfig(block=("bad",)), search_path=between(bad))
    report = next(r for r in kernel.reports if r.name == "bad")
    assert (report.state, report.reason) == ("blocked", "named in KERNELET_PLUGINS_BLOCK / --plugins-block")
    assert not any(site.imported(plugin) for plugin in bad.plugins)


def test_the_traceback_is_kept(between):
    kernel = Kernel.boot(PluginsConfig(), search_path=between(BAD["raises in its hook"]))
    details = next(r for r in kernel.reports if r.name == "bad").details()
    assert "disk on fire" in details["traceback"]
    assert "planted_kernelet_bad.py" in details["traceback"]


def test_all_at_once(site):
    """Every wrong plugin under a name of its own: the good ones do not notice."""
    for index, bad in enumerate(BAD.values()):
        for plugin in bad.plugins:
            site.install(replace(plugin, name=f"bad-{index}", distribution=f"{plugin.dist}-{index}"))
    site.install(good("a-good"), good("z-good"))
    kernel = Kernel.boot(PluginsConfig(), search_path=site.search_path)
    assert set(schedulers(kernel)) == {"a-good", "z-good", "fcfs", "priority"}
    states = {r.name: r.state for r in kernel.reports}
    assert {name for name, state in states.items() if state == "active"} == {"core", "a-good", "z-good"}
    assert len(states) == len(BAD) + 3
