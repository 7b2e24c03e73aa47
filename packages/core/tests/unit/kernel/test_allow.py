from __future__ import annotations

import pytest

from kernelet.config import PluginsConfig
from kernelet.errors import ConfigError, UnknownPluginError
from kernelet.kernel.allow import AllowList, close_to
from kernelet.kernel.discovery import Candidate


def found(*names):
    return [Candidate(name=n, entry_point=n, distribution=f"{n}-dist", version="1", path="/p") for n in names]


@pytest.mark.parametrize(
    "allow, loads, named",
    [
        (None, {"a", "b"}, set()),
        ((), set(), set()),
        (("a",), {"a"}, {"a"}),
        (("+a",), {"a", "b"}, {"a"}),
        (("a", "+b"), {"a", "b"}, {"a", "b"}),
        ((" a ", ""), {"a"}, {"a"}),
        (("", " "), set(), set()),
    ],
)
def test_forms(allow, loads, named):
    lists = AllowList.from_config(PluginsConfig(allow=allow))
    assert {name for name in ("a", "b") if not lists.refusal(name)} == loads
    assert {c.name for c in found("a", "b") if lists.names(c)} == named
    assert {c.name for c in found("a", "b") if lists.must_load(c)} == named


def test_block_wins_over_everything():
    lists = AllowList.from_config(PluginsConfig(allow=("a",), block=("a",)))
    assert "KERNELET_PLUGINS_BLOCK" in lists.refusal("a")
    assert "KERNELET_PLUGINS_BLOCK" in lists.refusal("a", always=True)


def test_the_list_does_not_take_away_what_always_runs():
    assert AllowList.from_config(PluginsConfig(allow=())).refusal("core", always=True) == ""


def test_handed_plugins_count_as_named():
    assert AllowList().must_load(Candidate(name="x", entry_point="", instance=object()))


def test_required_ones_must_load_but_are_not_named():
    lists = AllowList(required=frozenset({"a"}))
    assert lists.must_load(found("a")[0])
    assert not lists.names(found("a")[0])


def test_missing_names_list_what_was_found():
    with pytest.raises(UnknownPluginError) as caught:
        AllowList.from_config(PluginsConfig(allow=("server", "+alpa"))).check_names(found("alpha", "beta"))
    assert "'alpa' (did you mean alpha?), 'server'" in str(caught.value)
    assert str(caught.value).endswith(
        "take the name out of KERNELET_PLUGINS / --plugins. Found:\n  alpha: alpha-dist 1 /p\n  beta: beta-dist 1 /p"
    )


def test_missing_blocked_names_are_remarks():
    remarks = AllowList.from_config(PluginsConfig(block=("alpa", "beta"))).check_names(found("alpha", "beta"))
    assert remarks == ("KERNELET_PLUGINS_BLOCK names 'alpa', which is not installed (did you mean alpha?)",)


def test_close_to():
    assert close_to("thread", ["threads", "mode"]) == " (did you mean threads?)"
    assert close_to("xyz", ["threads", "mode"]) == ""


def test_a_plus_needs_a_name():
    with pytest.raises(ConfigError, match=r"has a [+] without a name: write [+]NAME"):
        AllowList.from_config(PluginsConfig(allow=("a", " + ")))
