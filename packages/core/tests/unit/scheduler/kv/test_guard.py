from __future__ import annotations

import pytest
from kv_world import Planted, Side

from kernelet.contracts.kv import LATER, Handover, KVStep, SchedulerSide, Ticket
from kernelet.errors import KerneletError, PluginError
from kernelet.scheduler.kv.guard import GuardedSide

CALLS = {
    "on_new_request": ((None,), None),
    "get_num_new_matched_tokens": ((None, 0), None),
    "update_state_after_alloc": ((None, 1, 0, 4, ()), None),
    "abort": ((None,), None),
    "cancel": ((1,), None),
    "request_preempted": ((None,), None),
    "build_connector_meta": ((KVStep(step=0),), b""),
    "update_connector_output": (([],), None),
    "request_finished": ((None, 1, 0, ()), Handover()),
    "has_pending_work": ((), False),
}
"""Arguments, and what the answer is once the side is off."""


def test_every_method_that_an_engine_calls_is_guarded():
    methods = {
        name for name in dir(SchedulerSide) if not name.startswith("_") and callable(getattr(SchedulerSide, name))
    }
    assert methods - {"validate_params"} == {*CALLS, "reset_cache", "shutdown"}
    assert methods - {"validate_params"} <= vars(GuardedSide).keys()


@pytest.mark.parametrize("method", CALLS)
def test_what_raises_is_off_and_is_asked_no_more(method, caplog):
    side = Side()
    side.failing[method] = 0
    guarded = GuardedSide("c", side)
    arguments, answer = CALLS[method]
    for _ in range(2):
        assert getattr(guarded, method)(*arguments) == answer
    assert guarded.off == f"{method}() raised Planted: {method}"
    (record,) = caplog.records
    assert "KV connector c is switched off" in record.getMessage() and guarded.off in record.getMessage()
    side.failing.clear()
    for name, (arguments, answer) in CALLS.items():
        assert getattr(guarded, name)(*arguments) == answer
    assert side.calls == side.steps == []


@pytest.mark.parametrize(
    "method, answer, says",
    [
        ("get_num_new_matched_tokens", 4, "the answer is 4, expected a Ticket, LATER or None"),
        ("get_num_new_matched_tokens", Ticket(num_tokens=4.0), "expected a Ticket"),
        ("build_connector_meta", "text", "the answer is 'text', expected bytes"),
        ("request_finished", None, "the answer is None, expected a Handover"),
        (
            "request_finished",
            Handover(kv_transfer_params={"a": object()}),
            "Encoding objects of type object",
        ),
    ],
)
def test_what_the_contract_does_not_know_is_a_failure(method, answer, says):
    side = Side()
    setattr(side, method, lambda *arguments: answer)
    guarded = GuardedSide("c", side)
    arguments, instead = CALLS[method]
    assert getattr(guarded, method)(*arguments) == instead
    assert says in guarded.off


def test_answers_are_passed_on():
    class One:
        request_id = "a"

    side = Side()
    guarded = GuardedSide("c", side)
    assert (guarded.settings, guarded.context) == (side.settings, side.context)
    for side.answers["a"] in (None, LATER, Ticket(num_tokens=4)):
        assert guarded.get_num_new_matched_tokens(One, 0) is side.answers["a"]
    side.handovers["a"] = Handover(holds_blocks=True, kv_transfer_params={"a": [1, "x", None]})
    assert guarded.request_finished(One, 1, 0, ()) is side.handovers["a"]
    assert guarded.build_connector_meta(KVStep(step=3)) == b"3"
    assert guarded.off == ""


def test_who_wants_it_to_forget_hears_that_it_did_not():
    side = Side()
    side.failing["reset_cache"] = 1
    guarded = GuardedSide("c", side)
    guarded.reset_cache()
    for _ in range(2):
        with pytest.raises(PluginError, match=r"c has not forgotten .* \(reset_cache\(\) raised Planted"):
            guarded.reset_cache()


def test_one_that_cannot_forget_says_so_and_goes_on():
    side = Side()
    guarded = GuardedSide("c", side)

    def refuse():
        raise KerneletError("it is shared: clear it yourself")

    side.reset_cache = refuse
    with pytest.raises(PluginError, match="c has not forgotten what it keeps: it is shared: clear it yourself"):
        guarded.reset_cache()
    assert guarded.off == ""


def test_it_is_shut_down_in_any_case(caplog):
    side = Side()
    side.failing.update(cancel=0, shutdown=1)
    guarded = GuardedSide("c", side)
    guarded.cancel(1)
    guarded.shutdown()
    assert side.did("shutdown") == [("shutdown",)]
    guarded.shutdown()
    assert "KV connector c failed as it was shut down" in caplog.text
    assert isinstance(caplog.records[-1].exc_info[1], Planted)
