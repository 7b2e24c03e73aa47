from __future__ import annotations

from kernelet.testing.attention.exchange_faults import EXCHANGE_PLANTED
from kernelet.testing.attention.kept import SlowKept


def test_each_changes_the_reference():
    assert all(issubclass(attention, SlowKept) and attention is not SlowKept for _, attention, _ in EXCHANGE_PLANTED)
    assert len({name for name, _, _ in EXCHANGE_PLANTED}) == len({says for _, _, says in EXCHANGE_PLANTED})
