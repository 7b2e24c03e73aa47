from __future__ import annotations

import msgspec
import pytest

from kernelet.cache.eviction import lru
from kernelet.contracts.kv import KVConnectorContext, KVStep, ScheduledKV, Ticket
from kernelet.contracts.offer import Settings
from kernelet.testing.kv_connector import plain_layout
from kernelet.testing.kv_connector.requests import IDENTITY, KitRequest
from kernelet_kv_offload.messages import Loaded, Report, decode_meta, encode
from kernelet_kv_offload.options import chunk_bytes
from kernelet_kv_offload.plugin import kernelet_options
from kernelet_kv_offload.scheduler import OffloadScheduler

CHUNK = 8
BLOCKS = ((1, 2, 3, 4, 5, 6, 7, 8),)
LAYOUT = plain_layout(block_size=4)


def request(count=20, seed=0):
    return KitRequest(request_id=f"r{seed}", token_ids=[seed, *range(1, count)], num_prompt_tokens=count)


def make(slots=4, ranks=1, role="both", handshakes=(), layout=LAYOUT, max_model_len=100):
    defaults = {key: option.default for key, option in kernelet_options().schema.items()}
    memory = slots * ranks * chunk_bytes([layout], CHUNK)
    settings = Settings(plugin="kv-offload", values={**defaults, "chunk_tokens": CHUNK, "memory_bytes": memory})
    context = KVConnectorContext(
        identity=IDENTITY,
        role=role,
        engine_id="e",
        layouts=((layout,),) * ranks,
        load_timeout=1.0,
        max_model_len=max_model_len,
        handshakes=handshakes,
        eviction=lambda _name, size: lru(size),
    )
    return OffloadScheduler(settings, context)


def test_chunks_that_no_request_fills_are_said(caplog):
    for length in (CHUNK, CHUNK - 1):
        make(max_model_len=length)
    (record,) = caplog.records
    assert record.getMessage().startswith("nothing will be kept: requests have at most 7 tokens, and a chunk has 8")


def step(side, *scheduled):
    meta = side.build_connector_meta(KVStep(step=0, scheduled=scheduled))
    return decode_meta(meta) if meta else None


def computes(asked, computed, count, blocks=BLOCKS):
    return ScheduledKV(request=asked, num_computed_tokens=computed, num_scheduled_tokens=count, block_ids=blocks)


def saves(side, one):
    """What is saved when 16 tokens are computed."""
    meta = step(side, computes(one, 0, 16))
    return meta.saves if meta else ()


def saved(side, meta, ranks=1):
    slots = tuple(save.slot for save in meta.saves)
    side.update_connector_output([encode(Report(saved=slots, released=slots))] * ranks)


def stored(side, count=20):
    """A request whose chunks are in memory."""
    one = request(count)
    saved(side, step(side, computes(one, 0, count)))
    side.request_finished(one, 1, count, BLOCKS)
    step(side)
    return one


def keys(one, *ends):
    return [one.key(end) for end in ends]


def on_disk(*held):
    return msgspec.msgpack.encode(list(held))


def test_saves_chunks_that_are_complete():
    side, one = make(), request(20)
    assert step(side, computes(one, 0, 6)) is None
    first = step(side, computes(one, 6, 8)).saves
    assert [(save.key, save.start, save.blocks) for save in first] == [(one.key(8), (0,), ((1, 2),))]
    (second,) = step(side, computes(one, 14, 6)).saves
    assert (second.key, second.blocks) == (one.key(16), ((3, 4),))
    assert second.slot != first[0].slot
    assert step(side, computes(one, 20, 1)) is None  # a token that is not known yet


def test_what_is_stored_is_not_saved_again():
    side = make()
    one = stored(side)
    again = KitRequest(request_id="again", token_ids=one.token_ids, num_prompt_tokens=20)
    assert step(side, computes(again, 0, 20)) is None


def test_a_request_that_was_left_out_catches_up():
    side, one = make(), request(20)
    assert [save.key for save in step(side, computes(one, 17, 1)).saves] == keys(one, 8, 16)


def test_chunks_begin_inside_blocks():
    side = make(layout=plain_layout(block_size=16))
    (first, second) = step(side, computes(request(20), 0, 20, ((1, 2),))).saves
    assert (first.start, first.blocks) == ((0,), ((1,),))
    assert (second.start, second.blocks) == ((8,), ((1,),))


def test_dropped_blocks_are_not_saved():
    side, one = make(), request(20)
    meta = step(side, computes(one, 16, 4, ((0, 0, 3, 4, 5),)))
    assert [save.key for save in meta.saves] == keys(one, 16)
    assert meta.counts == {"skipped_saves": 1}


def test_promises_what_follows_each_other_and_the_same_each_time():
    side = make()
    one = stored(side, 32)
    longer = KitRequest(request_id="x", token_ids=[*one.token_ids[:26], 99, 98], num_prompt_tokens=28)
    assert {side.get_num_new_matched_tokens(longer, 0) for _ in range(3)} == {Ticket(num_tokens=24)}
    assert side.get_num_new_matched_tokens(longer, 4) == Ticket(num_tokens=20)
    assert side.get_num_new_matched_tokens(longer, 24) is None
    other = request(20, seed=7)
    assert side.get_num_new_matched_tokens(other, 0) is None


def test_a_miss_stays_one_until_the_request_loses_its_blocks():
    side = make()
    waiting = KitRequest(request_id="waiting", token_ids=request(20).token_ids, num_prompt_tokens=20)
    assert side.get_num_new_matched_tokens(waiting, 0) is None
    stored(side)
    assert side.get_num_new_matched_tokens(waiting, 0) is None
    side.request_preempted(waiting)
    assert side.get_num_new_matched_tokens(waiting, 0) == Ticket(num_tokens=16)


def test_a_load_names_its_chunks():
    side = make()
    one = stored(side, 32)
    assert side.get_num_new_matched_tokens(one, 4) == Ticket(num_tokens=28)
    side.update_state_after_alloc(one, 9, 4, 20, BLOCKS)
    (load,) = step(side).loads
    assert (load.transfer, load.start, load.end, load.blocks) == (9, 4, 20, BLOCKS)
    assert [source.key for source in load.chunks] == keys(one, 8, 16, 24)
    assert all(source.filled and source.slot for source in load.chunks)
    assert step(side) is None


def test_slots_of_a_load_stay_until_every_rank_is_through():
    side = make(slots=2, ranks=2)
    one = request(16)
    saved(side, step(side, computes(one, 0, 16)), ranks=2)
    side.get_num_new_matched_tokens(one, 0)
    side.update_state_after_alloc(one, 9, 0, 15, BLOCKS)
    step(side)
    side.cancel(9)
    other = request(16, seed=3)
    assert not saves(side, other)
    side.update_connector_output([encode(Report(loaded=(Loaded(9),))), b""])
    assert not saves(side, other)
    side.update_connector_output([b"", encode(Report(loaded=(Loaded(9),)))])
    assert len(saves(side, other)) == 2


@pytest.mark.parametrize("end", ["abort", "cancel", "preempted", "finished"])
def test_what_is_not_loaded_is_let_go(end):
    side = make(slots=2)
    one = stored(side, 16)
    side.get_num_new_matched_tokens(one, 0)
    other = request(16, seed=3)
    assert not saves(side, other)
    if end == "abort":
        side.abort(one)
    elif end == "preempted":
        side.request_preempted(one)
    elif end == "finished":
        side.request_finished(one, 2, 0, ((),))
    else:
        side.update_state_after_alloc(one, 9, 0, 15, BLOCKS)
        side.cancel(9)
    assert len(saves(side, other)) == 2


def test_from_disk_into_memory():
    one = request(20)
    side = make(handshakes=(on_disk(*keys(one, 8, 16)),))
    assert side.get_num_new_matched_tokens(one, 0) == Ticket(num_tokens=16)
    side.update_state_after_alloc(one, 9, 0, 16, BLOCKS)
    (load,) = step(side).loads
    assert [source.filled for source in load.chunks] == [False, False]
    first, second = (source.slot for source in load.chunks)
    assert first != second
    side.update_connector_output([encode(Report(loaded=(Loaded(9, (first,)),), lost=(one.key(16),)))])
    side.request_preempted(one)
    assert side.get_num_new_matched_tokens(one, 0) == Ticket(num_tokens=8)
    side.update_state_after_alloc(one, 10, 0, 8, BLOCKS)
    (source,) = step(side).loads[0].chunks
    assert (source.slot, source.filled) == (first, True)


def test_the_disk_of_one_rank_is_not_enough():
    one = request(20)
    side = make(ranks=2, handshakes=(on_disk(*keys(one, 8, 16)), on_disk(one.key(8))))
    assert side.get_num_new_matched_tokens(one, 0) == Ticket(num_tokens=8)


def test_roles():
    one = request(20)
    held = (on_disk(one.key(8)),)
    assert make(role="producer", handshakes=held).get_num_new_matched_tokens(one, 0) is None
    consumer = make(role="consumer", handshakes=held)
    assert consumer.get_num_new_matched_tokens(one, 0) == Ticket(num_tokens=8)
    assert not saves(consumer, one)


def test_no_room_is_tried_again_and_counted_at_the_end():
    side, one, other = make(slots=1), request(16), request(16, seed=3)
    (save,) = step(side, computes(one, 0, 16)).saves
    assert step(side, computes(other, 0, 12)) is None
    side.update_connector_output([encode(Report(saved=(save.slot,), released=(save.slot,)))])
    meta = step(side, computes(other, 12, 1))
    assert [save.key for save in meta.saves] == keys(other, 8)
    assert meta.counts == {"memory_evictions": 1}
    side.request_finished(one, 1, 16, BLOCKS)
    assert step(side).counts == {"skipped_saves": 1}


def test_reset_forgets_and_tells_the_ranks():
    side = make()
    one = stored(side)
    assert not side.has_pending_work()
    side.reset_cache()
    assert side.has_pending_work()
    assert step(side).generation == 1
    assert not side.has_pending_work()
    side.update_connector_output([encode(Report(generation=0, found=(one.key(8),)))])
    assert side.get_num_new_matched_tokens(one, 0) is None
    side.update_connector_output([encode(Report(generation=1, found=(one.key(8),)))])
    side.request_preempted(one)
    assert side.get_num_new_matched_tokens(one, 0) == Ticket(num_tokens=8)


def test_counts():
    side = make()
    one = stored(side)
    side.get_num_new_matched_tokens(one, 0)
    side.update_state_after_alloc(one, 9, 0, 16, BLOCKS)
    assert step(side).counts == {"hits": 1, "memory_chunks": 2}
    side.get_num_new_matched_tokens(request(20, seed=5), 0)
    assert step(side).counts == {"misses": 1}
