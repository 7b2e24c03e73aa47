from __future__ import annotations

import pytest

from kernelet.testing.kv_connector.fake import FakeScheduler, FakeWorker, fake_offer
from kernelet.testing.kv_connector.making import lru, make_sides
from kernelet.testing.kv_connector.pages import PlainPages, plain_layout
from kernelet.testing.kv_connector.requests import IDENTITY
from kernelet.testing.kv_connector.script import World
from kernelet.testing.verdict import ConformanceError

MADE_FROM = {"identity": IDENTITY, "role": "consumer", "engine_id": "one", "load_timeout": 3.0}


def test_both_sides_know_all_ranks():
    pages = [PlainPages([plain_layout(rank=rank, world_size=2)]) for rank in (0, 1)]
    scheduler, workers = make_sides(fake_offer(World()), pages, **MADE_FROM)
    assert isinstance(scheduler, FakeScheduler)
    assert scheduler.context.layouts == tuple(one.layouts for one in pages)
    assert (scheduler.context.saves, scheduler.context.loads) == (False, True)
    assert [(one.context.rank, one.context.world_size, one.context.pages) for one in workers] == [
        (rank, 2, pages[rank]) for rank in (0, 1)
    ]
    assert scheduler.context.handshakes == (None, None)


def test_classes_of_another_kind_are_refused():
    with pytest.raises(ConformanceError, match="is no SchedulerSide"):
        make_sides(fake_offer(World(), scheduler=FakeWorker), [], **MADE_FROM)


def test_the_policy_is_one():
    policy = lru("whatever", 4)
    policy.add(3)
    assert policy.evict() == 3
