from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from kernelet.contracts.kv import KVConnectorContext, KVStep, ScheduledKV, Ticket
from kernelet.contracts.offer import Settings
from kernelet.errors import ConfigError, ParameterError
from kernelet.testing.kv_connector.pages import plain_layout
from kernelet.testing.kv_connector.requests import IDENTITY, KitRequest
from kernelet_kv_transfer.messages import Address, Orders
from kernelet_kv_transfer.params import remote_of
from kernelet_kv_transfer.scheduler import PrefillDecodeScheduler

TOKENS = list(range(20))
BLOCKS = ((1, 2, 3, 4, 5),)


def side(role="both", ranks=1, engine_id="one"):
    handshakes = tuple(msgspec.msgpack.encode(Address("10.0.0.1", 7000 + rank)) for rank in range(ranks))
    context = KVConnectorContext(
        identity=IDENTITY,
        role=role,
        engine_id=engine_id,
        layouts=((plain_layout(),),) * ranks,
        load_timeout=30,
        max_model_len=100,
        handshakes=(None,) * ranks if role == "consumer" else handshakes,
    )
    return PrefillDecodeScheduler(Settings(plugin="kv-test"), context)


def request(tokens=TOKENS, params=None, **fields):
    return KitRequest(
        request_id="r", token_ids=tokens, num_prompt_tokens=len(tokens), kv_transfer_params=params, **fields
    )


def handed_over(ranks=1):
    """Params of a prompt of 20 tokens."""
    prefill = request([*TOKENS, 99], {"do_remote_decode": True})
    prefill.num_prompt_tokens = 20
    return side("producer", ranks).request_finished(prefill, 3, 20, BLOCKS).kv_transfer_params


def orders(of, *scheduled):
    meta = of.build_connector_meta(KVStep(step=1, scheduled=scheduled))
    return msgspec.msgpack.decode(meta, type=Orders) if meta else Orders()


def test_a_prompt_is_handed_over_under_a_lease():
    producer = side("producer", ranks=2)
    prefill = request([*TOKENS, 99], {"do_remote_decode": True})
    prefill.num_prompt_tokens = 20
    answer = producer.request_finished(prefill, 3, 20, BLOCKS)
    remote = remote_of(answer.kv_transfer_params)
    assert answer.holds_blocks and producer.has_pending_work()
    (lease,) = orders(producer).leases
    assert (lease.number, lease.num_tokens, lease.block_ids) == (3, 20, BLOCKS)
    assert lease.key == prefill.key(20)
    assert (remote.remote_lease, remote.remote_generation, remote.remote_num_tokens) == (3, lease.generation, 20)
    assert remote.remote_ranks == (("10.0.0.1", 7000), ("10.0.0.1", 7001)) and remote.tp_size == 2
    assert answer.kv_transfer_params["remote_block_ids"] == [[1, 2, 3, 4, 5]]
    assert not producer.has_pending_work() and orders(producer) == Orders()


def test_secrets_differ():
    assert handed_over()["remote_generation"] != handed_over()["remote_generation"]


@pytest.mark.parametrize(
    "role, params, computed, blocks, reason",
    [
        ("producer", None, 20, BLOCKS, "length"),
        ("producer", {"do_remote_decode": True}, 19, BLOCKS, "length"),
        ("producer", {"do_remote_decode": True}, 20, ((),), "length"),
        ("producer", {"do_remote_decode": True}, 20, BLOCKS, "abort"),
        ("producer", {"do_remote_decode": True}, 20, BLOCKS, "error"),
        ("consumer", {"do_remote_decode": True}, 20, BLOCKS, "length"),
    ],
)
def test_nothing_is_held_for_nobody(role, params, computed, blocks, reason):
    of = side(role)
    answer = of.request_finished(request(params=params, finish_reason=reason), 1, computed, blocks)
    assert not answer.holds_blocks and answer.kv_transfer_params is None and not of.has_pending_work()


def test_a_prompt_is_taken():
    consumer, decode = side("consumer"), request(params=handed_over())
    consumer.on_new_request(decode)
    assert [consumer.get_num_new_matched_tokens(decode, 4) for _ in range(3)] == [Ticket(num_tokens=16)] * 3
    consumer.update_state_after_alloc(decode, 8, 4, 19, BLOCKS)
    assert consumer.has_pending_work()
    told = orders(consumer)
    (load,) = told.loads
    assert told.renewals == (load.remote,)
    assert (load.transfer, load.start, load.end, load.block_ids) == (8, 4, 19, BLOCKS)
    assert load.key == decode.key(20) and load.remote == remote_of(decode.kv_transfer_params)
    assert consumer.get_num_new_matched_tokens(decode, 4) is None, "a lease is taken once"
    consumer.request_finished(decode, 9, 20, BLOCKS)
    assert not orders(consumer).releases


def test_a_request_that_waits_keeps_its_lease_alive():
    consumer, decode = side("consumer"), request(params=handed_over())
    consumer.on_new_request(decode)
    assert consumer.has_pending_work()
    assert orders(consumer) == Orders(renewals=(remote_of(decode.kv_transfer_params),))
    assert not consumer.has_pending_work() and orders(consumer) == Orders()
    consumer.update_state_after_alloc(decode, 8, 4, 19, BLOCKS)
    assert not orders(consumer).renewals


def test_what_is_computed_already_is_a_miss_and_is_released_once_it_computes():
    consumer, decode = side("consumer"), request(params=handed_over())
    consumer.on_new_request(decode)
    assert consumer.get_num_new_matched_tokens(decode, 20) is None
    held = ScheduledKV(request=decode, num_computed_tokens=0, num_scheduled_tokens=1, block_ids=BLOCKS)
    assert orders(consumer, held).releases == (remote_of(decode.kv_transfer_params),)
    consumer.request_finished(decode, 9, 20, BLOCKS)
    assert not consumer.has_pending_work()


def test_a_longer_prompt_than_the_request_has_is_asked_for_and_fails_by_its_key():
    consumer, decode = side("consumer"), request(TOKENS[:19], handed_over())
    consumer.on_new_request(decode)
    assert consumer.get_num_new_matched_tokens(decode, 4) == Ticket(num_tokens=15)
    consumer.update_state_after_alloc(decode, 8, 4, 18, BLOCKS)
    (load,) = orders(consumer).loads
    assert load.key == decode.key(19) != request().key(20)


@pytest.mark.parametrize(
    "role, params, key",
    [
        ("producer", handed_over, "do_remote_prefill"),
        ("consumer", lambda: {"do_remote_decode": True}, "do_remote_decode"),
    ],
)
def test_what_the_role_does_not_do_is_refused(role, params, key):
    of, told = side(role), request(params=params())
    with pytest.raises(ParameterError, match=f"this engine has the role of a {role}") as caught:
        of.on_new_request(told)
    assert caught.value.parameter == f"kv_transfer_params.{key}"
    given = remote_of(told.kv_transfer_params)
    assert orders(of).releases == (() if given is None else (given,))
    assert not of.has_pending_work()


@pytest.mark.parametrize("how", ["abort", "finish", "cancel"])
def test_every_way_out_releases(how):
    of, decode = side("both"), request(params=handed_over())
    of.on_new_request(decode)
    if how == "abort":
        assert of.get_num_new_matched_tokens(decode, 0)
        of.abort(decode)
    elif how == "finish":
        of.request_finished(decode, 9, 0, ((),))
    elif how == "cancel":
        of.update_state_after_alloc(decode, 8, 0, 19, BLOCKS)
        of.cancel(8)
    told = orders(of)
    assert told.releases == (remote_of(decode.kv_transfer_params),) and not told.loads
    assert of.get_num_new_matched_tokens(decode, 0) is None
    assert orders(of) == Orders()


def test_a_handover_that_is_cancelled_before_its_step_is_none():
    producer = side("producer")
    producer.request_finished(request(params={"do_remote_decode": True}), 3, 20, BLOCKS)
    producer.cancel(3)
    assert orders(producer) == Orders()


def test_a_lease_that_is_longer_than_the_core_waits_is_said(caplog):
    for lease in (480, 481):
        settings = Settings(plugin="kv-test", values={"lease": lease})
        PrefillDecodeScheduler(settings, replace(side("producer").context, handover_timeout=480.0))
    (record,) = caplog.records
    assert record.getMessage().startswith("kv-test.lease is 481 s, and blocks are given back after 480 s")


def test_wrong_params_are_told_to_the_client():
    with pytest.raises(ParameterError):
        PrefillDecodeScheduler.validate_params({"do_remote_prefill": True})
    PrefillDecodeScheduler.validate_params({"other": 1})


def test_ranks_that_do_not_listen_stop_the_start():
    context = side("producer", ranks=2).context
    with pytest.raises(ConfigError, match="2 ranks must say where they listen, 1 do"):
        PrefillDecodeScheduler(
            Settings(plugin="kv-test"),
            KVConnectorContext(
                identity=IDENTITY,
                role="both",
                engine_id="e",
                layouts=context.layouts,
                load_timeout=1,
                max_model_len=9,
                handshakes=(context.handshakes[0], None),
            ),
        )
