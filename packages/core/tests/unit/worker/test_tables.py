from __future__ import annotations

import pytest

from kernelet.worker.tables import BlockTable


def test_append_clear_and_grow():
    table = BlockTable(4, 2, 17)
    assert table.ids.shape == (2, 5)
    table.append(0, [3, 4])
    table.append(1, [9])
    table.append(0, [5])
    table.grow(3)
    assert table.ids.tolist() == [[3, 4, 5, 0, 0], [9, 0, 0, 0, 0], [0] * 5]
    table.append(2, [6])
    table.clear(0)
    table.append(0, [8])
    assert table.ids[:, 0].tolist() == [8, 9, 6]
    assert not table.ids[0, 1:].any()


def test_too_many_blocks():
    table = BlockTable(4, 1, 8)
    table.append(0, [1, 2])
    with pytest.raises(ValueError, match="3 blocks were given to a request that can have 2"):
        table.append(0, [3])
