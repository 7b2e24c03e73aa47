from __future__ import annotations

from kernelet.contracts.kv import TransferResults, WorkerSide
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
