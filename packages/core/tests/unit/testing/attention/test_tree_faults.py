from __future__ import annotations

from kernelet.testing.attention.kept import SlowKept
from kernelet.testing.attention.tree_faults import TREE_PLANTED


def test_each_changes_the_reference():
    assert all(issubclass(attention, SlowKept) and attention is not SlowKept for _, attention, _ in TREE_PLANTED)
    assert len({name for name, _, _ in TREE_PLANTED}) == len(TREE_PLANTED)
