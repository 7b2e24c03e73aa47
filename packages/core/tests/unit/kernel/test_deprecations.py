from __future__ import annotations

import logging

import pytest

from kernelet.contracts.cache import EvictionPolicy
from kernelet.contracts.executor import SchedulerOffer, SchedulingPolicy
from kernelet.hookspecs import hookimpl
from kernelet.kernel import deprecations
from kernelet.kernel.boot import boot as boot_plugins
from kernelet.kernel.deprecations import Deprecation, Kind, note_plugin, note_target
from kernelet.kernel.discovery import Candidate
from kernelet.kernel.loader import handed_candidates
from kernelet.kernel.record import Record


class Policy(SchedulingPolicy):
    def key(self, request):
        return ()


class Plugin:
    name = "vendor"

    @hookimpl
    def kernelet_schedulers(self):
        return (SchedulerOffer(name="x", target=f"{__name__}:Policy", summary="s"),)

    @hookimpl
    def kernelet_process_started(self, role):
        """Takes one of two parameters."""


def entry(kind, what, **fields):
    given = {"domain": "executor", "replacement": "the new one", "since": "1.3", "removed": "0.5", **fields}
    return Deprecation(kind=kind, what=what, **given)


@pytest.fixture
def record():
    from kernelet.config import PluginsConfig
    from kernelet.kernel.allow import AllowList

    return boot_plugins(handed_candidates([Plugin()]), AllowList(), PluginsConfig()).records[0]


LINE = (
    "executor hook kernelet_schedulers, deprecated since executor 1.3, goes away in kernelet-core 0.5: use the new one"
)


def test_the_line_names_plugin_what_replacement_and_removal_once(record, caplog):
    table = (entry(Kind.HOOK, "kernelet_schedulers"),)
    with caplog.at_level(logging.WARNING):
        note_plugin(record, table)
        note_plugin(record, table)
    assert [one.getMessage() for one in caplog.records] == [
        f"plugin 'vendor' (handed to this process: Plugin) uses {LINE}"
    ]
    assert record.report().deprecated == (LINE,)
    assert record.report().details()["deprecated"] == [LINE]


@pytest.mark.parametrize(
    "kind, what, used",
    [
        (Kind.HOOK, "kernelet_schedulers", True),
        (Kind.HOOK, "kernelet_executors", False),
        (Kind.PARAMETER, "kernelet_process_started.role", True),
        (Kind.PARAMETER, "kernelet_process_started.rank", False),
        (Kind.PARAMETER, "kernelet_process_stopped.role", False),
        (Kind.OFFER, "SchedulerOffer", True),
        (Kind.OFFER, "ExecutorOffer", False),
        (Kind.FIELD, "SchedulerOffer.summary", True),
        (Kind.FIELD, "Offer.summary", True),  # inherited by every offer
        (Kind.FIELD, "SchedulerOffer.priority", False),
        (Kind.FIELD, "ExecutorOffer.summary", False),
        (Kind.CONTRACT, "v1", True),  # an object has no metadata: its offers say it
        (Kind.CONTRACT, "v2", False),
    ],
)
def test_use_shows_when_a_plugin_is_loaded(record, kind, what, used):
    note_plugin(record, (entry(kind, what),))
    assert bool(record.deprecated) is used


@pytest.mark.parametrize("version, used", [("v1", True), ("v2", False)])
def test_a_contract_is_stated_in_the_metadata(version, used):
    api = (("executor", f"kernelet.contracts.executor:{version}"), ("own", "vendor.contracts:v1"))
    record = Record(candidate=Candidate(name="p", entry_point="m", distribution="d", api=api), plugin=object())
    note_plugin(record, (entry(Kind.CONTRACT, "v1"), entry(Kind.CONTRACT, "v1", domain="own")))
    assert len(record.deprecated) == used


@pytest.mark.parametrize(
    "target, used",
    [
        (Policy, True),
        (SchedulingPolicy, False),  # the interface itself
        (EvictionPolicy, False),
        (test_a_contract_is_stated_in_the_metadata, False),
    ],
)
def test_a_member_shows_when_its_class_is_selected(record, target, used):
    note_target(record, target, (entry(Kind.MEMBER, "SchedulingPolicy.key"), entry(Kind.HOOK, "kernelet_schedulers")))
    assert len(record.deprecated) == used


def test_one_that_does_not_run_is_not_told(record):
    record.plugin = None
    note_plugin(record, (entry(Kind.HOOK, "kernelet_schedulers"),))
    assert not record.deprecated


def test_the_kernel_looks_when_it_boots_and_when_it_loads(boot, monkeypatch):
    table = (entry(Kind.HOOK, "kernelet_schedulers"), entry(Kind.MEMBER, "SchedulingPolicy.key"))
    monkeypatch.setattr(deprecations, "DEPRECATIONS", table)
    kernel = boot(Plugin())
    told = {report.name: report.deprecated for report in kernel.reports}
    assert told == {"core": (LINE,), "vendor": (LINE,)}
    (owned,) = (one for one in kernel.offers(SchedulerOffer) if one.plugin == "vendor")
    monkeypatch.setattr("kernelet.kernel.manager.import_target", lambda *_: Policy)
    kernel.load(owned)
    kernel.load(owned)
    assert [len(report.deprecated) for report in kernel.reports if report.name == "vendor"] == [2]


def test_every_kind_has_its_check():
    assert set(deprecations.USES) | {Kind.MEMBER} == set(Kind)
