from __future__ import annotations

import pytest

from kernelet.contracts.executor import SchedulerOffer
from kernelet.contracts.platform import PlatformOffer
from kernelet.kernel.discovery import Candidate
from kernelet.kernel.failure import Failure
from kernelet.kernel.kinds import kind_of
from kernelet.kernel.record import Record, Remark
from kernelet.kernel.report import State

PLATFORM = kind_of(PlatformOffer)
SCHEDULER = kind_of(SchedulerOffer)


def record(**fields):
    candidate = Candidate(
        name="p", entry_point="m", distribution="d", version="1", path="/x", api=fields.pop("api", ())
    )
    return Record(candidate=candidate, plugin=object(), **fields)


def platform(name):
    return PLATFORM, PlatformOffer(name=name, target="m:D", probe="m:p", config="m:C", worker="m:W"), ""


def scheduler(name, inactive=""):
    return SCHEDULER, SchedulerOffer(name=name, target="m:X", summary="s"), inactive


def test_active():
    report = record(offers=[scheduler("a")]).report()
    assert (report.name, report.distribution, report.version, report.state) == ("p", "d", "1", "active")
    assert [(o.domain, o.kind, o.name, o.state, o.summary) for o in report.offers] == [
        ("executor", "scheduling policy", "a", "active", "s")
    ]


def test_refused():
    one = record(offers=[scheduler("a")])
    one.refuse(State.FAILED, "why", "do this", Failure.of(ValueError("x")))
    assert not one.active
    report = one.report()
    assert (report.state, report.reason, report.fix) == ("failed", "why", "do this")
    assert "ValueError: x" in report.trace
    assert report.offers[0].state == "failed"
    assert one.message() == "plugin 'p' (d 1, entry point p = m, in /x) failed: why. To do: do this"


def test_only_opt_in_offers():
    report = record(
        offers=[scheduler("a", "opt-in and not named: x"), scheduler("b", "opt-in and not named: y")]
    ).report()
    assert (report.state, report.reason) == ("blocked", "opt-in and not named: x")


def test_some_opt_in_offers():
    report = record(offers=[scheduler("a", "opt-in"), scheduler("b")]).report()
    assert report.state == "active"
    assert [str(o.state) for o in report.offers] == ["blocked", "active"]


@pytest.mark.parametrize(
    "states, shown",
    [
        ({"a": State.DECLINED}, "active"),  # b was not probed
        ({"a": State.DECLINED, "b": State.DECLINED}, "declined"),
        ({"a": State.DECLINED, "b": State.FAILED}, "failed"),
        ({"a": State.ACTIVE, "b": State.FAILED}, "active"),
    ],
)
def test_platforms_that_decline(states, shown):
    one = record(offers=[platform("a"), platform("b"), scheduler("c")])
    for name, state in states.items():
        one.remarks["platform", name] = Remark(state=state, reason=f"{name} is {state}")
    report = one.report()
    assert report.state == shown
    assert one.active
    assert {o.name: o.reason for o in report.offers if o.name in states} == {
        n: f"{n} is {s}" for n, s in states.items()
    }


@pytest.mark.parametrize(
    "fields, may",
    [
        ({"api": (("executor", "x"),)}, True),
        ({"api": (("op", "x"),)}, False),
        ({}, True),
        ({"hooks": frozenset({"kernelet_ops"})}, False),
    ],
)
def test_who_might_have_offered_it(fields, may):
    assert record(**fields).may_offer("executor") == may
