from __future__ import annotations

import numpy as np
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


@pytest.mark.parametrize("window", [None, 1, 3, 4, 5, 9])
def test_what_no_token_of_the_step_sees_is_the_null_block(window):
    table = BlockTable(4, 3, 40, window)
    for row in range(3):
        table.append(row, [10 * row + block + 1 for block in range(10)])
    rows, computed = np.array([2, 0]), np.array([13, 38])
    seen = table.visible(rows, computed, 10)
    for line, row, first in zip(seen, rows, computed, strict=True):
        lowest = 0 if window is None else max(0, first - window + 1)
        expected = [10 * row + block + 1 if (block + 1) * 4 > lowest else 0 for block in range(10)]
        assert line.tolist() == expected
    assert table.ids.all(), "the table itself keeps what it was given"
