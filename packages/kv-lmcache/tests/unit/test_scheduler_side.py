from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from kernelet.contracts.kv import LATER, KVConnectorContext, KVConnectorOffer, KVStep, ScheduledKV
from kernelet.errors import ConfigError
from kernelet.testing.kv_connector import plain_layout
from kernelet.testing.kv_connector.requests import IDENTITY, KitRequest
from kernelet.testing.offered import find_offer
from kernelet_kv_lmcache.orders import Orders, Report
from kernelet_kv_lmcache.scheduler_side import LMCacheSchedulerSide

CHUNK = 8
BLOCKS = (tuple(range(1, 9)),)


def settings(**options):
    return find_offer("kernelet_kv_lmcache.plugin", KVConnectorOffer, "kv-lmcache", **options).settings


def side(role="both", ranks=1, alive=True, **layout):
    return LMCacheSchedulerSide(
        settings(url="tcp://here"),
        KVConnectorContext(
            identity=IDENTITY,
            role=role,
            engine_id="engine",
            layouts=((plain_layout(**layout),),) * ranks,
            load_timeout=1.0,
            max_model_len=64,
            handshakes=(msgspec.msgpack.encode(Report(alive, CHUNK)),) * ranks,
        ),
    )


def request(side, count=20):
    made = KitRequest(request_id="r", token_ids=list(range(count)), num_prompt_tokens=count, identity=IDENTITY)
    side.on_new_request(made)
    return made


def orders(side, *scheduled):
    return msgspec.msgpack.decode(side.build_connector_meta(KVStep(step=0, scheduled=scheduled)), type=Orders)


def report(side, **fields):
    side.update_connector_output([msgspec.msgpack.encode(Report(fields.pop("alive", True), CHUNK, **fields))])


def found(side, made, hits, computed=0):
    """A lookup of the request, answered."""
    assert side.get_num_new_matched_tokens(made, computed) is LATER
    (lookup,) = orders(side).lookups
    assert lookup.keys == [made.key(CHUNK), made.key(2 * CHUNK)]
    report(side, found={lookup.session: hits})
    return lookup.session


@pytest.mark.parametrize(
    "start, end, freed",
    [(0, 16, []), (4, 16, []), (8, 16, [(0, 1)]), (0, 7, [(1, 2)]), (9, 12, [(0, 1)])],
)
def test_chunks_of_a_lookup_are_loaded_or_let_go(start, end, freed):
    one = side()
    made = request(one)
    session = found(one, made, 2)
    assert one.get_num_new_matched_tokens(made, 0).num_tokens == 16
    one.update_state_after_alloc(made, 5, start, end, BLOCKS)
    told = orders(one)
    (load,) = told.loads
    assert (load.transfer, load.session, load.start, load.end) == (5, session, start, end)
    assert load.keys == [made.key(CHUNK), made.key(2 * CHUNK)][: -(-end // CHUNK)]
    assert [(free.first, free.last) for free in told.frees] == freed
    assert not any(free.ends for free in told.frees), "the load ends the session"


def test_what_the_prefix_cache_has_is_let_go():
    one = side()
    made = request(one)
    found(one, made, 1)
    assert one.get_num_new_matched_tokens(made, 8) is None
    assert [(free.first, free.last, free.ends) for free in orders(one).frees] == [(0, 1, True)]
    assert one.get_num_new_matched_tokens(made, 8) is None
    assert not orders(one).frees


def test_a_miss_ends_the_session_once():
    one = side()
    made = request(one)
    session = found(one, made, 0)
    assert one.get_num_new_matched_tokens(made, 0) is None
    assert [(free.session, free.first, free.last, free.ends) for free in orders(one).frees] == [(session, 0, 0, True)]


def test_an_answer_that_comes_too_late_is_let_go():
    one = side()
    made = request(one)
    one.get_num_new_matched_tokens(made, 0)
    (lookup,) = orders(one).lookups
    one.request_finished(made, 1, 0, ((),))
    assert one.has_pending_work(), "somebody must hear the answer"
    report(one, found={lookup.session: 2})
    assert [(free.first, free.last, free.ends) for free in orders(one).frees] == [(0, 2, True)]
    assert not one.has_pending_work()


def test_a_load_that_is_cancelled_before_it_was_told():
    one = side()
    made = request(one)
    found(one, made, 2)
    one.update_state_after_alloc(made, 5, 0, 16, BLOCKS)
    one.cancel(5)
    told = orders(one)
    assert not told.loads
    assert [(free.first, free.last) for free in told.frees] == [(0, 2)]


def step_of(made, computed, count):
    return ScheduledKV(request=made, num_computed_tokens=computed, num_scheduled_tokens=count, block_ids=BLOCKS)


def test_chunks_are_saved_once_they_are_whole():
    one = side()
    made = request(one)
    assert not orders(one, step_of(made, 0, 7)).saves
    (save,) = orders(one, step_of(made, 7, 9)).saves
    assert (save.first, len(save.keys), save.transfer) == (0, 2, 0)
    assert not orders(one, step_of(made, 16, 4)).saves
    assert not orders(one, step_of(made, 20, 9)).saves, "tokens that are not known yet have no key"
    report(one, short={"r": 1})
    assert one.request_finished(made, 7, 20, BLOCKS).holds_blocks
    (save,) = orders(one).saves
    assert (save.first, len(save.keys), save.transfer) == (1, 2, 7)


def test_what_was_found_is_not_saved():
    one = side()
    made = request(one)
    found(one, made, 2)
    one.abort(made)
    assert not orders(one, step_of(made, 0, 20)).saves
    assert not one.request_finished(made, 7, 20, BLOCKS).holds_blocks


@pytest.mark.parametrize("why", ["consumer", "dropped", "dead"])
def test_what_is_not_saved(why):
    one = side(role="consumer" if why == "consumer" else "both", alive=why != "dead")
    made = request(one)
    blocks = ((0, *BLOCKS[0][1:]),) if why == "dropped" else BLOCKS
    assert not one.request_finished(made, 7, 20, blocks).holds_blocks
    assert not orders(one).saves


def test_a_producer_and_a_store_that_is_gone_look_nothing_up():
    for one in (side(role="producer"), side(alive=False)):
        assert one.get_num_new_matched_tokens(request(one), 0) is None
        assert not orders(one).lookups


def test_a_spoiled_chunk_is_stored_anew_under_a_name_that_all_engines_find():
    one, other = side(), side()
    made = request(one, 32)
    first, second, third, fourth = (made.key(end * CHUNK) for end in (1, 2, 3, 4))
    assert one.get_num_new_matched_tokens(made, 0) is LATER
    session = orders(one).lookups[0].session
    report(one, found={session: 4})
    one.update_state_after_alloc(made, 5, 0, 32, BLOCKS)
    report(one, spoiled=[second])
    (save,) = orders(one, step_of(made, 8, 24)).saves
    assert (save.first, len(save.keys), save.keys[0]) == (1, 4, first)
    assert save.keys[1] not in (second, third) and save.keys[2:] == [third, fourth], "a chunk depends on all before"
    again = request(one, 32)
    assert one.get_num_new_matched_tokens(again, 0) is LATER
    assert orders(one).lookups[0].keys == save.keys
    report(other, spoiled=[second])
    assert other.get_num_new_matched_tokens(request(other, 32), 0) is LATER
    assert orders(other).lookups[0].keys == save.keys
    report(other, spoiled=[save.keys[1]])
    assert other.get_num_new_matched_tokens(request(other, 32), 0) is LATER
    assert orders(other).lookups[0].keys[1] not in (second, save.keys[1])


def test_a_lookup_under_way_does_not_promise_what_is_spoiled():
    one = side()
    made = request(one)
    assert one.get_num_new_matched_tokens(made, 0) is LATER
    (lookup,) = orders(one).lookups
    report(one, spoiled=[made.key(2 * CHUNK)])
    report(one, found={lookup.session: 2})
    assert one.get_num_new_matched_tokens(made, 0).num_tokens == CHUNK
    assert [(free.first, free.last) for free in orders(one).frees] == [(1, 2)]
    assert [save.first for save in orders(one, step_of(made, 0, 16)).saves] == [1]


def test_a_chunk_that_no_request_fills_is_refused():
    with pytest.raises(ConfigError, match=r"kv-lmcache\.chunk_size must be 4 tokens"):
        LMCacheSchedulerSide(settings(spawn=True), replace(side().context, max_model_len=4))
    with pytest.raises(ConfigError, match=r"the --chunk-size of the server that kv-lmcache\.url names must be 4"):
        LMCacheSchedulerSide(settings(url="tcp://here"), replace(side().context, max_model_len=4))


def test_after_a_reset_nothing_of_before_is_found_or_saved():
    one = side()
    begun = request(one, 40)
    kept = orders(one, step_of(begun, 0, 16)).saves[0].keys
    one.reset_cache()
    report(one, short={"r": 1})
    assert orders(one, step_of(begun, 16, 24)).saves == []
    assert not one.request_finished(begun, 3, 40, BLOCKS).holds_blocks
    again = request(one, 40)
    saved = orders(one, step_of(again, 0, 16)).saves[0].keys
    assert len(saved) == len(kept) == 2
    assert not set(saved) & set(kept)
    assert one.get_num_new_matched_tokens(again, 0) is LATER
    assert orders(one).lookups[0].keys[:2] == saved, "what was saved since is found"
    one.reset_cache()
    assert not set(orders(one, step_of(request(one, 40), 0, 16)).saves[0].keys) & {*saved, *kept}
