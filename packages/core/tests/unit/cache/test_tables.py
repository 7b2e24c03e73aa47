from __future__ import annotations

from kernelet.cache.tables import GroupTable, PrefixHit, RequestTables


def test_drop_before_replaces_by_the_null_block_once():
    table = GroupTable([5, 6, 7])
    assert table.drop_before(2) == [5, 6]
    assert table.block_ids == [0, 0, 7]
    assert table.drop_before(2) == []
    assert table.drop_before(1) == []
    assert table.num_held == 1
    assert table.drop_before(3) == [7]
    assert table.num_dropped == 3
    assert table.drop_before(5) == []
    assert table.block_ids == [0] * 5
    assert table.num_held == 0


def test_hit_with_leading_null_blocks():
    table = GroupTable([0, 0, 4], num_dropped=2, num_stored=3)
    assert table.num_held == 1
    assert table.drop_before(1) == []
    assert table.drop_before(3) == [4]


def test_plain_data():
    hit = PrefixHit(8, ([1, 2], [0, 3]))
    assert hit == PrefixHit(8, ([1, 2], [0, 3]))
    assert RequestTables((GroupTable(),), 0).groups[0].block_ids == []
