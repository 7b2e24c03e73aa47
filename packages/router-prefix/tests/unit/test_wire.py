from __future__ import annotations

import msgspec
import pytest

from kernelet_router_prefix.wire import Cleared, Removed, Stored, read_batch


def encoded(*events, rank=0):
    return msgspec.msgpack.encode([1.5, list(events), rank])


def test_events_as_maps():
    stored = {
        "type": "BlockStored",
        "block_hashes": [b"a"],
        "parent_block_hash": None,
        "token_ids": [1, 2],
        "block_size": 2,
        "lora_id": None,
        "medium": "GPU",
        "lora_name": None,
        "extra_keys": [["salt"]],
        "group_idx": 0,
        "kv_cache_spec_kind": "full_attention",
        "session_id": "of a later release",
    }
    removed = {"type": "BlockRemoved", "block_hashes": [b"a", 7], "medium": "GPU"}
    assert read_batch(encoded(stored, removed, {"type": "AllBlocksCleared"})) == (
        1.5,
        [
            Stored(
                block_hashes=[b"a"],
                token_ids=[1, 2],
                block_size=2,
                medium="GPU",
                extra_keys=[["salt"]],
                kv_cache_spec_kind="full_attention",
            ),
            Removed(block_hashes=[b"a", 7], medium="GPU"),
            Cleared(),
        ],
    )


def test_events_as_arrays_of_older_releases():
    events = ["BlockStored", [5], 4, [1, 2], 2, None], ["BlockRemoved", [5]], ["AllBlocksCleared"]
    payload = msgspec.msgpack.encode([0.0, list(events)])
    stored = Stored(block_hashes=[5], parent_block_hash=4, token_ids=[1, 2], block_size=2)
    assert read_batch(payload) == (0.0, [stored, Removed(block_hashes=[5]), Cleared()])


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"\xc1",
        msgspec.msgpack.encode(5),
        msgspec.msgpack.encode([1.0]),
        msgspec.msgpack.encode([1.0, [5]]),
        msgspec.msgpack.encode([None, []]),
        encoded({"type": "BlockMoved"}),
        encoded({"block_hashes": []}),
        encoded({"type": "BlockStored", "block_hashes": [b"a"]}),
        encoded(["BlockStored", ["text"], None, [1], 1, None]),
    ],
)
def test_what_is_no_batch(payload):
    with pytest.raises(ValueError, match="no batch of KV events"):
        read_batch(payload)
