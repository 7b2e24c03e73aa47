from __future__ import annotations

import pytest

from kernelet.contracts.executor import SchedulerOffer
from kernelet.contracts.offer import Option
from kernelet.testing.interpreter import call_fresh
from kernelet.testing.package.faults import GOOD, HOOK, PACKAGE, plugin
from kernelet.testing.planter import plant
from kernelet.testing.registration.probe import as_text, wrong_options


@pytest.fixture
def look(tmp_path, monkeypatch):
    def look(planted):
        plant(tmp_path, planted)
        monkeypatch.syspath_prepend(str(tmp_path))
        return call_fresh("kernelet.testing.registration.probe:look", ["scheduler-calm"], [PACKAGE], [])

    return look


def test_a_good_package(look):
    found = look(GOOD)
    assert found["hooks"] == ["kernelet_options", "kernelet_schedulers"]
    assert [offer["name"] for offer in found["offers"]] == ["calm"]
    assert found["seconds"] < 0.5
    assert found["elsewhere"] == {"fork": [], "spawn": []}
    for name in ("failure", "heavy", "changed", "unequal", "options", "unplain", "targets"):
        assert not found[name], name


def test_what_a_hook_asks_of_the_configuration_is_compared(look):
    text = "\n\n@hookimpl\ndef kernelet_configure(config):\n    return (str(id(object())), next(C))\n"
    found = look(plugin(HOOK + text, head="import itertools\nC = itertools.count()\n"))
    assert "what scheduler-calm asks of the configuration" in found["unequal"]
    assert f"{PACKAGE}.plugin.C" in found["changed"]


def test_one_that_does_not_load(look):
    found = look(plugin(head="import a_library_that_is_not_here\n"))
    assert found["heavy"] == ["a_library_that_is_not_here"] * 2
    assert "No module named 'a_library_that_is_not_here'" in found["failure"]


@pytest.mark.parametrize(
    "option, message",
    [
        (Option(type=int, default=3, help="Of something"), None),
        (Option(type=int, help="Of something; default: all"), None),
        (Option(type=str, default="a", help="One", choices=("a", "b")), None),
        (Option(type=float, default=0.5, help="A share"), None),
        (Option(type=int, default=3), "needs a help"),
        (Option(type=int, help="Of something"), "needs a default"),
        (Option(type=int, default=3, help="Of something", choices=("3", "x")), "must take 'x'"),
    ],
)
def test_options(option, message):
    found = list(wrong_options("p", [("some_key", option)]))
    assert (message is None and not found) or message in found[0]
    assert "name of small letters" in next(iter(wrong_options("p", [("Some-Key", option)])))


def test_text_of_an_offer_has_sets_in_order():
    from kernelet.contracts.attention import AttentionOffer

    one, other = (AttentionOffer(name="a", target="a:b", kinds=frozenset(kinds)) for kinds in (("x", "y"), ("y", "x")))
    assert as_text(one) == as_text(other)
    assert as_text(SchedulerOffer(name="a", target="a:b")) != as_text(SchedulerOffer(name="b", target="a:b"))
