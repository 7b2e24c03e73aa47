from __future__ import annotations

import pytest

from kernelet_kv_offload.slots import Slots


def test_each_is_given_once():
    slots = Slots(3)
    assert sorted(slots.take() for _ in range(3)) == [1, 2, 3]
    assert len(slots) == 0
    with pytest.raises(IndexError, match="all 3 slots are taken"):
        slots.take()
    slots.give_back(2)
    assert len(slots) == 1
    assert slots.take() == 2
