from __future__ import annotations

from kernelet.testing.attention.kept import SlowKept
from kernelet.testing.attention.kept_faults import KEPT_PLANTED


def test_each_changes_the_reference():
    assert all(issubclass(attention, SlowKept) and attention is not SlowKept for _, attention, _ in KEPT_PLANTED)
    assert len({name for name, _, _ in KEPT_PLANTED}) == len({says for _, _, says in KEPT_PLANTED}) == len(KEPT_PLANTED)
