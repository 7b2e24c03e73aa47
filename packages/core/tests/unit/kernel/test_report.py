from __future__ import annotations

import json

import pytest

from kernelet.kernel.report import OfferReport, PluginReport, State

REPORT = PluginReport(
    name="p",
    distribution="d",
    version="1",
    entry_point="m",
    path="/x",
    state=State.FAILED,
    reason="why",
    fix="do this",
    offers=(OfferReport(domain="executor", kind="scheduling policy", name="a", state=State.BLOCKED, reason="r"),),
    trace="Traceback",
)


def test_row():
    assert json.loads(json.dumps(REPORT.row())) == {
        "name": "p",
        "distribution": "d",
        "version": "1",
        "state": "failed",
        "reason": "why; do this",
        "offers": ["executor:a"],
    }


def test_details():
    details = json.loads(json.dumps(REPORT.details()))
    assert (details["path"], details["entry_point"], details["fix"], details["traceback"]) == (
        "/x",
        "m",
        "do this",
        "Traceback",
    )
    assert details["reason"] == "why"
    assert details["offers"] == [
        {
            "domain": "executor",
            "kind": "scheduling policy",
            "name": "a",
            "state": "blocked",
            "reason": "r",
            "summary": "",
        }
    ]


@pytest.mark.parametrize("state", ["active", "declined", "failed", "blocked", "incompatible"])
def test_states(state):
    assert State(state) == state


def test_what_stands_before_an_offers_name():
    assert str(OfferReport(domain="cache", kind="k", name="n")) == "cache:n"
    assert str(OfferReport(domain="parsing", kind="tool parser", name="n", scope="tool-parser")) == "tool-parser:n"
