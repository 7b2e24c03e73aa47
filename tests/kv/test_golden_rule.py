"""Must-show 1 and 2 of KV connectors: fakes that do all that connectors do wrong in the field, alone and composed."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test
from kv_machine import GoldenRule

HAPPENED = (
    *("hit", "partial", "miss", "later", "sync", "async", "loaded", "failed", "cancelled", "aborted", "held", "died"),
    *("twice", "stranger", "wrote-after", "num_preempted", "num_chunked", "external_hits", "prefix_hits", "misled"),
    *("failed: short", "failed: timeout", "failed: unconfirmed", "failed: handover_timeout"),
    "raised",
    *("ended: length", "ended: abort", "ended: error"),
)


SELDOM = ("failed: connector_off",)
"""Happens in one of some hundred runs: a connector fails while a load of its own is under way."""


def play(fakes, examples):
    """Plays many runs; returns what happened in them."""

    class Machine(GoldenRule):
        pass

    Machine.fakes, Machine.saw = fakes, Counter()
    run_state_machine_as_test(
        Machine, settings=settings(max_examples=examples, stateful_step_count=25, deadline=None, database=None)
    )
    return Machine.saw


def test_text_never_changes():
    """With one, and with two that are composed."""
    saw = play(1, 30) + play(2, 15)
    missing = [name for name in HAPPENED if not saw[name]]
    assert not missing, f"never happened: {missing}; {saw}"


@pytest.mark.long
@pytest.mark.parametrize("fakes", [1, 2, 3])
def test_text_never_changes_in_many_runs(fakes):
    saw = play(fakes, 2000)
    assert all(saw[name] for name in (*HAPPENED, *SELDOM))
