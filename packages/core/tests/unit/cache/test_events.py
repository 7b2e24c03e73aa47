from __future__ import annotations

from kernelet.cache.events import BlockRemoved, BlockStored, EventLog


def test_events_are_taken_once_in_order():
    log = EventLog(enabled=True)
    log.add(BlockStored(0, b"a"))
    log.add(BlockRemoved(1, b"b"))
    assert log.take() == [BlockStored(0, b"a"), BlockRemoved(1, b"b")]
    assert log.take() == []


def test_nobody_listens():
    log = EventLog(enabled=False)
    log.add(BlockStored(0, b"a"))
    assert log.take() == []
