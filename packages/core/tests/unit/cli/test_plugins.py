from __future__ import annotations

import json

from kernelet.cli.plugins import shorten


def test_the_list_as_json(kernelet):
    code, out, _ = kernelet("plugins", "list", "--json")
    assert code == 0
    rows = {row["name"]: row for row in json.loads(out)}
    core = rows["core"]
    assert set(core) == {"name", "distribution", "version", "state", "reason", "offers"}
    assert (core["distribution"], core["state"]) == ("kernelet-core", "active")
    assert "executor:in-process" in core["offers"]
    assert rows["kernelet.testing.null:plugin"]["state"] == "active"
    assert {row["state"] for row in rows.values()} <= {"active", "declined", "failed", "blocked", "incompatible"}


def test_the_list_as_a_table(kernelet):
    _, out, _ = kernelet("plugins", "list")
    header, *rows = out.splitlines()
    assert header.split() == ["NAME", "DISTRIBUTION", "STATE", "OFFERS", "REASON"]
    assert any(row.startswith("core ") and "active" in row for row in rows)


def test_one_plugin(kernelet):
    code, out, _ = kernelet("plugins", "show", "core")
    assert code == 0
    assert "distribution: kernelet-core" in out
    assert "in-process" in out
    _, out, _ = kernelet("plugins", "show", "core", "--json")
    assert any(offer["name"] == "in-process" for offer in json.loads(out)["offers"])


def test_an_unknown_plugin_is_an_error_that_lists_the_known_ones(kernelet):
    code, _, err = kernelet("plugins", "show", "nope")
    assert code == 1
    assert "core" in err


def test_an_action_is_required(kernelet):
    assert kernelet("plugins")[0] == 2


def test_many_offers_are_shortened():
    assert shorten(["a", "b"]) == "a, b"
    assert shorten(list("abcdef")) == "a, b, c, d, ... (6)"
