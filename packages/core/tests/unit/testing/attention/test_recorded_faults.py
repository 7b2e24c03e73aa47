from __future__ import annotations

from kernelet.testing.attention.recorded_faults import RECORDED_PLANTED
from kernelet.testing.attention.reference import SlowAttention


def test_each_changes_the_reference():
    assert all(issubclass(one, SlowAttention) and one is not SlowAttention for _, one, _ in RECORDED_PLANTED)
    assert len({name for name, _, _ in RECORDED_PLANTED}) == len(RECORDED_PLANTED)
