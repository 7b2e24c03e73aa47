from __future__ import annotations

import msgspec
import zmq

from kernelet.cache.events import AllBlocksCleared
from kernelet.config import KVEventsConfig
from kernelet.contracts.cache import CacheConfigPlan
from kernelet.engine.kv_events.events import KVEvents

PLAN = CacheConfigPlan(groups=())


def test_nobody_is_asked_where_nothing_is_published():
    events = KVEvents(KVEventsConfig())
    events.of(lambda: 1 / 0, PLAN)()
    events.close()


def test_a_batch_a_step_that_brought_something(tmp_path):
    replay = f"ipc://{tmp_path}/replay"
    events = KVEvents(
        KVEventsConfig(enable_kv_cache_events=True, endpoint=f"ipc://{tmp_path}/events", replay_endpoint=replay)
    )
    pending = [[AllBlocksCleared()], [], [AllBlocksCleared(), AllBlocksCleared()]]
    publish = events.of(lambda: pending.pop(0), PLAN)
    for _ in range(3):
        publish()
    sizes = []
    with zmq.Context() as context, context.socket(zmq.DEALER) as socket:
        socket.connect(replay)
        while sizes != [1, 2]:
            socket.send_multipart((b"", (0).to_bytes(8, "big")))
            sizes = []
            while payload := socket.recv_multipart()[-1]:
                sizes.append(len(msgspec.msgpack.decode(payload)[1]))
    events.close()
