from __future__ import annotations

from kernelet.cache.events import AllBlocksCleared, BlockRemoved, EventLog


def test_events_are_taken_once_in_order():
    log = EventLog(enabled=True)
    log.add(BlockRemoved(group=1, key=b"b"))
    log.add(AllBlocksCleared())
    assert log.take() == [BlockRemoved(group=1, key=b"b"), AllBlocksCleared()]
    assert log.take() == []


def test_nobody_listens():
    log = EventLog(enabled=False)
    log.add(AllBlocksCleared())
    assert log.take() == []
