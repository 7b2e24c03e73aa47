from __future__ import annotations

import pytest

from kernelet.contracts.executor import CommunicatorOffer, SchedulerOffer
from kernelet.contracts.plugins import Owned
from kernelet.errors import SelectionError
from kernelet.kernel.discovery import Candidate
from kernelet.kernel.kinds import kind_of
from kernelet.kernel.record import Record
from kernelet.kernel.report import State
from kernelet.kernel.select.pick import Request, best, by_name, left_out, listed, select

REQUEST = Request(kind=kind_of(SchedulerOffer))


def owned(name, priority=0, plugin="p"):
    return Owned(offer=SchedulerOffer(name=name, target="m:X", priority=priority), plugin=plugin)


def test_the_named_one_wins_over_priority():
    offers = [owned("a", 100), owned("b")]
    choice = select(REQUEST, offers, "b")
    assert (choice.chosen, choice.reason) == (offers[1], "named")
    assert choice.refused == {"a": "b was named"}


def test_the_highest_priority_wins_unnamed():
    offers = [owned("a", 1), owned("b", 3), owned("c", 2)]
    choice = select(REQUEST, offers, None)
    assert choice.chosen is offers[1]
    assert choice.reason == "the best of 3 that fit"
    assert choice.refused == {"a": "b comes first (3 against 1)", "c": "b comes first (3 against 2)"}


def test_the_only_one():
    assert select(REQUEST, [owned("a")], None).reason == "the only one that fits"


def test_equal_ones_are_an_error_with_the_flag():
    with pytest.raises(SelectionError) as caught:
        select(REQUEST, [owned("a", 1), owned("b", 1, "q"), owned("c")], None)
    assert str(caught.value) == (
        "Several are equally good as scheduling policy: a (p), b (q). "
        "Name one: --scheduling-policy NAME or KERNELET_SCHEDULING_POLICY=NAME."
    )


def test_an_unknown_name_lists_the_choices():
    with pytest.raises(
        SelectionError, match=r"No scheduling policy is named 'fcsf' \(did you mean fcfs\?\). Choices: fcfs \(p\), x"
    ):
        by_name(REQUEST, [owned("fcfs"), owned("x")], "fcsf")


def test_an_unknown_name_that_is_no_typing_error_says_what_to_install():
    with pytest.raises(SelectionError, match=r"'zzz'. Choices: fcfs \(p\). For another, install a package .*NAME"):
        by_name(REQUEST, [owned("fcfs")], "zzz")
    with pytest.raises(SelectionError, match=r"'zzz'. Choices: none. Install a package that offers one"):
        by_name(REQUEST, [], "zzz")


def test_nothing_is_offered():
    with pytest.raises(SelectionError, match=r"No plugin offers a communicator."):
        best(Request(kind=kind_of(CommunicatorOffer)), [], {})


def test_nothing_fits_lists_every_reason():
    request = Request(kind=kind_of(SchedulerOffer), purpose="something")
    with pytest.raises(SelectionError) as caught:
        best(request, [], {"b": "too old", "a": "too small"})
    assert str(caught.value) == ("No scheduling policy for something can be used.\n  a: too small\n  b: too old")


def test_rank_goes_over_priority():
    offers = [owned("a", 100), owned("b")]
    assert best(REQUEST, offers, {}, {"a": (0, 100), "b": (1, 0)}).chosen is offers[1]


def test_plugins_that_might_have_offered_it_are_named():
    def record(name, state=State.FAILED, reason="why", **fields):
        candidate = Candidate(name=name, entry_point="m", distribution="d", api=fields.pop("api", ()))
        return Record(candidate=candidate, state=state, reason=reason, **fields)

    kind = kind_of(SchedulerOffer)
    offer = SchedulerOffer(name="shy", target="m:X")
    records = [
        record("broken", api=(("executor", "x"),)),
        record("other-domain", api=(("op", "x"),)),
        record("silent", State.BLOCKED, "not in the list"),
        record("fine", State.ACTIVE, "", plugin=object(), offers=[(kind, offer, "opt-in and not named: x")]),
    ]
    assert left_out(Request(kind=kind, records=records)) == (
        "\nPlugins that are not active:\n  broken failed: why\n  silent blocked: not in the list"
        "\n  fine's shy: opt-in and not named: x"
    )


def test_listed():
    assert listed([owned("a"), owned("b", plugin="q")]) == "a (p), b (q)"
    assert listed([]) == "none"
