from __future__ import annotations

from typing import Any

import msgspec

from kernelet.cache.events import AllBlocksCleared, BlockRemoved, BlockStored
from kernelet.contracts.cache import CacheConfigPlan, CacheGroup, FullAttentionSpec, SlidingWindowSpec
from kernelet.engine.kv_events.messages import EventBatch, Translator

# --- vLLM 0.32, vllm/distributed/kv_events.py: its names, order and options of encoding ----------


class VllmBatch(msgspec.Struct, array_like=True, omit_defaults=True):
    ts: float
    events: list[Any]
    data_parallel_rank: int | None = None


class VllmEvent(msgspec.Struct, omit_defaults=True, tag=True):
    pass


class VllmStored(VllmEvent, tag="BlockStored"):
    block_hashes: list[bytes | int]
    parent_block_hash: bytes | int | None
    token_ids: list[int]
    block_size: int
    lora_id: int | None
    medium: str | None
    lora_name: str | None
    extra_keys: list[tuple[Any, ...] | None] | None = None
    group_idx: int | None = None
    kv_cache_spec_kind: str | None = None
    kv_cache_spec_sliding_window: int | None = None
    locality: str | None = None
    ownership: str | None = None
    session_id: str | None = None


class VllmRemoved(VllmEvent, tag="BlockRemoved"):
    block_hashes: list[bytes | int]
    medium: str | None
    group_idx: int | None = None
    locality: str | None = None
    ownership: str | None = None


class VllmCleared(VllmEvent, tag="AllBlocksCleared"):
    pass


class VllmEventBatch(VllmBatch):
    events: list[VllmStored | VllmRemoved | VllmCleared]


COMMON = {"block_size": 2, "page_bytes": 64, "num_kv_heads": 1, "head_size": 8, "dtype": "float32"}
PLAN = CacheConfigPlan(
    groups=tuple(
        CacheGroup(spec=spec, layers=(str(index),), num_blocks=9)
        for index, spec in enumerate((FullAttentionSpec(**COMMON), SlidingWindowSpec(window=5, **COMMON)))
    )
)


def wire(*events):
    return msgspec.msgpack.encode(EventBatch(ts=1.5, events=Translator(PLAN).messages(events)))


def theirs(*events):
    return msgspec.msgpack.encode(VllmEventBatch(ts=1.5, events=list(events), data_parallel_rank=0))


def test_the_bytes_are_those_of_vllm():
    stored = BlockStored(group=0, keys=(b"a", b"b"), parent=b"", token_ids=(1, 2, 3, 4), block_size=2)
    expected = VllmStored(
        [b"a", b"b"], None, [1, 2, 3, 4], 2, None, "GPU", None, [None, None], 0, "full_attention", None
    )
    assert wire(stored) == theirs(expected)
    removed = [BlockRemoved(group=1, key=b"a"), BlockRemoved(group=1, key=b"b"), BlockRemoved(group=0, key=b"c")]
    assert wire(*removed) == theirs(VllmRemoved([b"a", b"b"], "GPU", 1), VllmRemoved([b"c"], "GPU", 0))
    assert wire(AllBlocksCleared()) == theirs(VllmCleared())


def test_what_else_decides_a_block_is_told():
    extras = ((("salt", ("pepper",)), ("segment", ("image", b"\x01\xff", 1, 9))), ())
    event = BlockStored(group=1, keys=(b"a", b"b"), parent=b"p", token_ids=(1, 2, 3, 4), block_size=2, extras=extras)
    (batch,) = [msgspec.msgpack.decode(wire(event), type=VllmEventBatch)]
    (stored,) = batch.events
    assert stored.extra_keys == [("pepper", ["01ff", 1]), None]
    assert (stored.parent_block_hash, stored.kv_cache_spec_kind, stored.kv_cache_spec_sliding_window) == (
        b"p",
        "sliding_window",
        5,
    )
