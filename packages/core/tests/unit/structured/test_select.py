from __future__ import annotations

import pytest

from kernelet.contracts.structured import GrammarEngineOffer
from kernelet.structured.select import EngineBounds, choose, in_order


def offer(name, priority=0, **bounds):
    return GrammarEngineOffer(name=name, target="m:C", priority=priority, **bounds)


OFFERS = (offer("zebra", 10), offer("ant", 10), offer("best", 20))


def test_the_order_is_of_priority_then_name():
    assert [one.name for one in in_order(OFFERS)] == ["best", "ant", "zebra"]


@pytest.mark.parametrize(
    "named, unfit, name, reason",
    [
        (None, {}, "best", ""),
        (None, {"best": "no"}, "ant", ""),
        ("zebra", {"best": "no"}, "zebra", ""),
        ("best", {"best": "no loops"}, None, "'best' does not enforce it: no loops; it is enforced by ant, zebra"),
        ("ant", {"best": "x", "ant": "y", "zebra": "z"}, None, "'ant' does not enforce it: y; no other"),
        (None, {"best": "x", "ant": "y", "zebra": "z"}, None, "no installed grammar engine.*ant: y; best: x; zebra: z"),
    ],
)
def test_the_named_one_else_the_best_that_fits(named, unfit, name, reason):
    import re

    choice = choose(named, OFFERS, unfit)
    assert choice.name == name
    assert choice.others == (
        tuple(one for one in ("best", "ant", "zebra") if one not in {name, *unfit}) if not named and name else ()
    )
    assert re.search(reason, choice.reason)


def test_bounds_travel():
    one = offer("a", recursion=False, max_repeat=5, max_expressions=7)
    back = EngineBounds.of(one).offer()
    assert (back.name, back.recursion, back.max_repeat, back.max_expressions) == ("a", False, 5, 7)
