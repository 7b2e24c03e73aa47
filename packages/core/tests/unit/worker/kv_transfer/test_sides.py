from __future__ import annotations

import pytest

from kernelet.contracts.kv import TransferResults, WorkerSide
from kernelet.contracts.kv_steps import KVPlan, KVReport, decode, encode
from kernelet.contracts.steps import StepPlan
from kernelet.errors import PluginError
from kernelet.worker.kv_transfer.sides import WorkerSides, overrides
from kernelet.worker.kv_transfer.transfers import Transfers


class Least(WorkerSide):
    """What a side must have."""

    def __init__(self):
        """Of nothing."""

    def bind_connector_metadata(self, meta): ...
    def start_load_kv(self): ...
    def get_finished(self):
        return TransferResults()


class Waits(Least):
    def __init__(self, calls):
        self.calls = calls

    def wait_for_layer_load(self, layer):
        self.calls.append(layer)

    def get_handshake_metadata(self):
        return b"here"


def test_only_those_are_called_that_do_something():
    calls = []
    sides = WorkerSides({"least": Least(), "waits": Waits(calls)}, Transfers())
    assert (len(sides.waits), sides.saves) == (1, ())
    sides.wait_for(("a", "b"))
    sides.save(("a",))
    assert calls == ["a", "b"]
    assert sides.handshakes() == {"waits": b"here"}


def test_what_a_class_overrides():
    assert overrides(Waits([]), "wait_for_layer_load")
    assert not overrides(Waits([]), "save_kv_layer")


class Ends(Least):
    """Raises at the end."""

    def __init__(self, calls):
        self.calls = calls

    def shutdown(self):
        self.calls.append("shutdown")
        raise OSError("gone")


def plan(**of):
    return StepPlan(step=0, extensions={name: encode(one) for name, one in of.items()})


def test_one_that_fails_leaves_the_others_alone():
    calls = []

    class Fails(Waits):
        def start_load_kv(self):
            raise OSError("gone")

    sides = WorkerSides({"fails": Fails(calls), "waits": Waits(calls)}, Transfers())
    sides.fence(plan(fails=KVPlan(), waits=KVPlan()))
    sides.start()
    sides.wait_for(("a",))
    assert calls == ["a"], "by the other one alone"
    found = {name: decode(data, KVReport).failed for name, data in sides.finish().items()}
    assert found == {"fails": "start_load_kv() raised OSError: gone", "waits": ""}


def test_each_is_told_in_each_step():
    sides = WorkerSides({"a": Least(), "b": Least()}, Transfers())
    with pytest.raises(RuntimeError, match="step 0 has no plan of the KV connectors b"):
        sides.fence(plan(a=KVPlan()))


def test_all_end_whatever_one_says(caplog):
    calls, transfers = [], Transfers()
    WorkerSides({"first": Ends(calls), "second": Ends(calls)}, transfers).shutdown()
    assert calls == ["shutdown"] * 2
    assert "KV connector first failed as it was shut down" in caplog.text
    with pytest.raises(RuntimeError, match="the pages are gone"), transfers.reading():
        pass


def test_one_that_cannot_say_how_it_is_reached_stops_the_start():
    class Nowhere(Least):
        def get_handshake_metadata(self):
            raise OSError("no network")

    with pytest.raises(PluginError, match=r"'c' cannot start: get_handshake_metadata\(\) raised OSError: no network"):
        WorkerSides({"c": Nowhere()}, Transfers()).handshakes()
