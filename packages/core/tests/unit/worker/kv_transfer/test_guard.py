from __future__ import annotations

import threading

import pytest

from kernelet.contracts.kv import TransferResults, WorkerSide
from kernelet.contracts.kv_steps import KVPlan, KVReport, decode
from kernelet.worker.kv_transfer.guard import GuardedWorker
from kernelet.worker.kv_transfer.transfers import Transfers

STEP = (
    *("bind_connector_metadata", "start_load_kv", "wait_for_layer_load", "save_kv_layer", "wait_for_save"),
    *("get_finished", "build_connector_worker_meta", "get_kv_connector_stats"),
)
"""Methods in the order of a step, after the fence."""


class Noting(WorkerSide):
    """``failing`` has the methods that raise, ``answers`` what others say."""

    def __init__(self):
        self.calls, self.failing, self.answers = [], set(), {}

    def __getattribute__(self, name):
        found = super().__getattribute__(name)
        if name not in {*STEP, "cancel", "shutdown"}:
            return found

        def call(*arguments):
            self.calls.append((name, *arguments))
            if name in self.failing:
                raise ZeroDivisionError(f"in {name}")
            return self.answers.get(name, found(*arguments))

        call.__name__ = name
        return call

    def bind_connector_metadata(self, meta): ...
    def start_load_kv(self): ...
    def get_finished(self):
        return TransferResults()


@pytest.fixture
def side():
    return Noting()


@pytest.fixture
def transfers():
    return Transfers()


@pytest.fixture
def guarded(side, transfers):
    return GuardedWorker("c", side, transfers)


def step(guarded, plan=None):
    """As ``WorkerSides`` calls it; returns the report."""
    guarded.fence(plan or KVPlan())
    guarded.bind()
    guarded.call(guarded.side.start_load_kv)
    guarded.call(guarded.side.wait_for_layer_load, "layer")
    guarded.call(guarded.side.save_kv_layer, "layer")
    guarded.call(guarded.side.wait_for_save)
    return decode(guarded.report(), KVReport)


def test_a_side_that_is_well(side, guarded, transfers):
    side.answers.update(
        get_finished=TransferResults(received={1: 4, 9: 4}, sent={7}),
        build_connector_worker_meta=b"m",
        get_kv_connector_stats={"bytes": 2},
    )
    report = step(guarded, KVPlan(loads=(1, 2), cancel=(5,), meta=b"orders"))
    assert report == KVReport(
        results=TransferResults(received={1: 4}, sent=frozenset({7})), meta=b"m", stats={"bytes": 2.0}
    )
    assert [call[0] for call in side.calls] == ["cancel", *STEP]
    assert side.calls[:2] == [("cancel", (5,)), ("bind_connector_metadata", b"orders")]
    with transfers.writing(1) as first, transfers.writing(2) as second:
        assert (first, second) == (False, True)
    guarded.shutdown()
    guarded.shutdown()
    assert [call[0] for call in side.calls].count("shutdown") == 1


@pytest.mark.parametrize("method", STEP)
def test_what_raises_ends_the_side_and_is_told(method, side, guarded, transfers):
    step(guarded, KVPlan(loads=(1,)))
    side.calls.clear()
    side.failing.add(method)
    side.answers["get_finished"] = TransferResults(received={1: 4}, sent={7})
    report = step(guarded, KVPlan(loads=(2,)))
    assert report.failed == f"{method}() raised ZeroDivisionError: in {method}"
    assert report.trace.startswith("Traceback")
    assert (report.results, report.meta, report.stats) == (TransferResults(), b"", {})
    assert [call[0] for call in side.calls] == [*STEP[: STEP.index(method) + 1], "cancel", "shutdown"]
    assert set(side.calls[-2][1]) == {1, 2}
    with transfers.writing(1) as first, transfers.writing(2) as second:
        assert not (first or second)
    side.calls.clear()
    assert step(guarded, KVPlan(off=True, loads=(3,), cancel=(1, 2))).failed == report.failed
    guarded.shutdown()
    assert side.calls == []
    with transfers.writing(3) as third:
        assert not third


@pytest.mark.parametrize(
    "answers, says",
    [
        ({"get_finished": None}, "get_finished() answered None, expected TransferResults"),
        ({"build_connector_worker_meta": "m"}, "build_connector_worker_meta() answered 'm', expected bytes"),
        ({"get_kv_connector_stats": {"a": object()}}, "Encoding objects of type object"),
        ({"get_kv_connector_stats": 3}, "'int' object is not iterable"),
        ({"get_finished": TransferResults(received=[1])}, "has no attribute 'items'"),
    ],
)
def test_what_the_contract_does_not_know_is_a_failure(answers, says, side, guarded):
    side.answers.update(answers)
    assert says in step(guarded).failed


def test_a_cancel_that_raises_is_made_good_by_the_end(side, guarded, transfers):
    step(guarded, KVPlan(loads=(1,)))
    transfers.bypassed = True
    side.failing.add("cancel")
    assert "cancel() raised" in step(guarded, KVPlan(cancel=(1,))).failed
    assert side.calls[-1] == ("shutdown",)


def test_one_that_can_not_be_stopped_is_harmless_if_pages_refuse_it(side, guarded, transfers):
    side.failing.update(("cancel", "shutdown", "start_load_kv"))
    assert "start_load_kv() raised" in step(guarded, KVPlan(loads=(1,))).failed
    step(guarded, KVPlan(off=True, cancel=(7,)))
    guarded.shutdown()


def test_one_that_can_not_be_stopped_and_knows_where_pages_lie_ends_the_engine(side, guarded, transfers):
    transfers.bypassed = True
    side.failing.update(("cancel", "shutdown", "start_load_kv"))
    with pytest.raises(RuntimeError, match=r"c has failed \(start_load_kv\(\) raised .* may write into blocks"):
        step(guarded, KVPlan(loads=(1,)))


def test_a_handover_that_can_not_be_stopped_ends_the_engine(side, guarded, transfers):
    """Its side ended with an error, so that each handover has to be cancelled for itself."""
    transfers.bypassed = True
    side.failing.update(("shutdown", "start_load_kv"))
    step(guarded)
    step(guarded, KVPlan(off=True, cancel=(7,)))
    assert side.calls[-1] == ("cancel", (7,))
    side.failing.add("cancel")
    with pytest.raises(RuntimeError, match="may write into blocks"):
        step(guarded, KVPlan(off=True, cancel=(8,)))


def test_the_engine_switches_it_off(side, guarded, transfers):
    step(guarded, KVPlan(loads=(1,)))
    side.calls.clear()
    assert step(guarded, KVPlan(off=True, cancel=(1, 7))) == KVReport()
    assert [call[0] for call in side.calls] == ["cancel", "shutdown"]
    assert set(side.calls[0][1]) == {1, 7}


def test_a_write_that_goes_on_is_waited_for(side, guarded, transfers):
    """A thread of the side is in the middle of a write when another of its methods raises."""
    step(guarded, KVPlan(loads=(1,)))
    side.failing.add("start_load_kv")
    inside, leave, done = threading.Event(), threading.Event(), []

    def write():
        with transfers.writing(1):
            inside.set()
            leave.wait(10)
            done.append("written")

    thread = threading.Thread(target=write)
    thread.start()
    assert inside.wait(10)
    threading.Timer(0.05, leave.set).start()
    step(guarded)
    assert done == ["written"]
    thread.join()
