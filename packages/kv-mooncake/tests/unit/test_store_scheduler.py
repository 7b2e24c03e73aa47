from __future__ import annotations

import msgspec
import pytest

from kernelet.contracts.kv import LATER, KVConnectorContext, KVStep, ScheduledKV, Ticket
from kernelet.errors import ConfigError
from kernelet.testing.kv_connector.pages import plain_layout
from kernelet.testing.kv_connector.requests import IDENTITY, KitRequest
from kernelet_kv_mooncake.store_orders import Orders, Report
from kernelet_kv_mooncake.store_scheduler import StoreScheduler

CHUNK = 4
BLOCKS = ((1, 2, 3, 4, 5),)


@pytest.fixture
def make(settings):
    def side(role="both", ranks=1, window=None):
        context = KVConnectorContext(
            identity=IDENTITY,
            role=role,
            engine_id="one",
            layouts=((plain_layout(window=window),),) * ranks,
            load_timeout=30,
            max_model_len=100,
        )
        return StoreScheduler(settings(chunk=CHUNK), context)

    return side


def request(tokens=18, name="r"):
    return KitRequest(request_id=name, token_ids=list(range(tokens)), num_prompt_tokens=tokens)


def orders(of, *scheduled):
    meta = of.build_connector_meta(KVStep(step=1, scheduled=scheduled))
    return msgspec.msgpack.decode(meta, type=Orders) if meta else Orders()


def told(of, *reports):
    of.update_connector_output([msgspec.msgpack.encode(report) for report in reports])


def computed(of, before, count, blocks=BLOCKS):
    return ScheduledKV(request=of, num_computed_tokens=before, num_scheduled_tokens=count, block_ids=blocks)


@pytest.mark.parametrize(
    "found, there, expected", [(4, 0, 16), (3, 0, 12), (0, 0, None), (2, 6, 6), (1, 8, 4), (0, 4, None)]
)
def test_a_lookup_is_answered_by_workers(make, found, there, expected):
    side, asked = make(), request()
    assert side.get_num_new_matched_tokens(asked, there) is LATER
    assert side.get_num_new_matched_tokens(asked, there) is LATER and side.has_pending_work()
    (lookup,) = orders(side).lookups
    first = there // CHUNK
    assert lookup.keys == tuple(asked.key(end) for end in range((first + 1) * CHUNK, 18, CHUNK))
    told(side, Report(found={lookup.number: found}))
    answer = None if expected is None else Ticket(num_tokens=expected)
    assert [side.get_num_new_matched_tokens(asked, there) for _ in range(3)] == [answer] * 3
    assert not side.has_pending_work() and not orders(side).lookups


def test_every_rank_must_have_it(make):
    side, asked = make(ranks=2), request()
    side.get_num_new_matched_tokens(asked, 0)
    (lookup,) = orders(side).lookups
    told(side, Report(found={lookup.number: 4}))
    assert side.get_num_new_matched_tokens(asked, 0) is LATER
    told(side, Report(found={lookup.number: 2, 77: 9}), Report(found={lookup.number: 1}))
    assert side.get_num_new_matched_tokens(asked, 0) == Ticket(num_tokens=8)


def test_a_ticket_keeps_its_end_when_the_prefix_cache_changes(make):
    side, asked = make(), request()
    side.get_num_new_matched_tokens(asked, 8)
    told(side, Report(found={orders(side).lookups[0].number: 2}))
    assert side.get_num_new_matched_tokens(asked, 8) == Ticket(num_tokens=8)
    assert side.get_num_new_matched_tokens(asked, 12) == Ticket(num_tokens=4)
    assert side.get_num_new_matched_tokens(asked, 16) is None
    assert side.get_num_new_matched_tokens(asked, 4) is None, "what lies before was not looked up"


def test_a_load_names_the_chunks_that_cover_it(make):
    side, asked = make(), request()
    side.get_num_new_matched_tokens(asked, 0)
    told(side, Report(found={orders(side).lookups[0].number: 4}))
    side.update_state_after_alloc(asked, 9, 2, 15, BLOCKS)
    (fetch,) = orders(side).fetches
    assert (fetch.transfer, fetch.start, fetch.end, fetch.block_ids) == (9, 2, 15, BLOCKS)
    assert [(chunk.start, chunk.end) for chunk in fetch.chunks] == [(0, 4), (4, 8), (8, 12), (12, 16)]
    assert [chunk.key for chunk in fetch.chunks] == [asked.key(end) for end in (4, 8, 12, 16)]
    assert not orders(side).fetches


@pytest.mark.parametrize("how", ["abort", "finish", "compute"])
def test_a_lookup_that_nobody_needs_is_forgotten(make, how):
    side, asked = make("consumer"), request()
    side.get_num_new_matched_tokens(asked, 0)
    if how == "abort":
        side.abort(asked)
    elif how == "finish":
        side.request_finished(asked, 1, 0, ((),))
    else:
        orders(side, computed(asked, 0, 1))
    assert not side.has_pending_work() and not orders(side).lookups
    told(side, Report(found={0: 4}))
    assert side.get_num_new_matched_tokens(asked, 0) is LATER


def test_a_load_that_is_cancelled_before_its_step_is_none(make):
    side, asked = make(), request()
    side.get_num_new_matched_tokens(asked, 0)
    told(side, Report(found={orders(side).lookups[0].number: 4}))
    side.update_state_after_alloc(asked, 9, 0, 16, BLOCKS)
    side.cancel(9)
    assert orders(side) == Orders()


def test_chunks_are_stored_as_they_become_whole_and_once(make):
    side, one = make(), request()
    assert [save.chunk.end for save in orders(side, computed(one, 0, 3)).saves] == []
    saves = orders(side, computed(one, 3, 6)).saves
    assert [(save.chunk.start, save.chunk.end, save.chunk.key) for save in saves] == [
        (0, 4, one.key(4)),
        (4, 8, one.key(8)),
    ]
    assert saves[0].block_ids == BLOCKS
    # two tokens more than are known: the chunk that they would complete has no key yet
    assert [save.chunk.end for save in orders(side, computed(one, 9, 11)).saves] == [12, 16]
    one.token_ids += [98, 99]
    assert [save.chunk.end for save in orders(side, computed(one, 19, 1)).saves] == [20]
    assert not orders(side, computed(request(name="again"), 0, 18)).saves


def test_what_was_not_stored_is_stored_by_the_next(make):
    side, one = make(), request()
    orders(side, computed(one, 0, 18))
    told(side, Report(unsaved=(one.key(8),)))
    assert [save.chunk.end for save in orders(side, computed(request(name="again"), 0, 18)).saves] == [8]


def test_what_a_lookup_misses_is_stored_again(make):
    side, one, again = make(), request(), request(name="again")
    orders(side, computed(one, 0, 18))
    side.get_num_new_matched_tokens(again, 0)
    told(side, Report(found={orders(side).lookups[0].number: 1}))
    assert [save.chunk.end for save in orders(side, computed(again, 0, 18)).saves] == [8, 12, 16], "all behind it"


def test_a_store_that_has_lost_everything_is_filled_by_one_request(make):
    side, one = make(ranks=2), request()
    orders(side, computed(one, 0, 18))
    for name in ("again", "more"):
        again = request(name=name)
        side.get_num_new_matched_tokens(again, 0)
        (lookup,) = orders(side).lookups
        told(side, Report(found={lookup.number: 4}), Report(found={lookup.number: 0}))
        assert [save.chunk.end for save in orders(side, computed(again, 0, 18)).saves] == [4, 8, 12, 16]


def test_roles_and_windows(make):
    assert make("producer").get_num_new_matched_tokens(request(), 0) is None
    assert orders(make("consumer"), computed(request(), 0, 18)) == Orders()
    saves = orders(make(window=6), computed(request(), 0, 18, ((0, 0, 3, 4, 5),))).saves
    assert [save.chunk.start for save in saves] == [8, 12], "dropped blocks have other owners"


@pytest.mark.parametrize("chunk", [0, 101, None])
def test_wrong_chunks_are_named(settings, make, chunk):
    with pytest.raises(ConfigError, match=r"kv-mooncake\.chunk must be from 1 to 100"):
        StoreScheduler(settings(chunk=chunk), make().context)


def test_after_a_reset_names_are_others_and_nothing_of_before_is_promised_loaded_or_saved(make):
    side = make()
    waits, asked, promised, loads, begun = (request(name=name) for name in ("w", "a", "p", "l", "b"))
    for one in (asked, promised, loads):
        assert side.get_num_new_matched_tokens(one, 0) is LATER
    told(side, Report(found={lookup.number: 4 for lookup in orders(side).lookups[1:]}))
    for one in (promised, loads):
        assert side.get_num_new_matched_tokens(one, 0) == Ticket(num_tokens=16)
    side.update_state_after_alloc(loads, 7, 0, 16, BLOCKS)
    assert len(orders(side, computed(begun, 0, 6)).fetches[0].chunks) == 4
    side.reset_cache()
    assert not side.has_pending_work()
    assert side.get_num_new_matched_tokens(asked, 0) is None
    side.update_state_after_alloc(promised, 8, 0, 16, BLOCKS)
    (fetch,) = orders(side).fetches
    assert (fetch.transfer, fetch.chunks) == (8, ())
    told(side, Report(found={0: 4}))
    assert not orders(side, computed(begun, 6, 4), computed(loads, 16, 1)).saves
    assert not orders(side, computed(begun, 10, 8), computed(loads, 17, 1)).saves
    assert side.get_num_new_matched_tokens(waits, 0) is LATER
    (lookup,) = orders(side).lookups
    assert len(lookup.keys) == 4 and not set(lookup.keys) & {waits.key(end) for end in (4, 8, 12, 16)}
    told(side, Report(found={lookup.number: 0}))
    saves = orders(side, computed(promised, 0, 18)).saves
    assert tuple(save.chunk.key for save in saves) == lookup.keys


def test_a_load_that_was_not_sent_yet_is_reset_too(make):
    side, loads = make(), request()
    side.get_num_new_matched_tokens(loads, 0)
    told(side, Report(found={orders(side).lookups[0].number: 4}))
    side.update_state_after_alloc(loads, 7, 0, 16, BLOCKS)
    side.reset_cache()
    assert orders(side).fetches[0].chunks == ()
