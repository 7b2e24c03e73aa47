"""The worker sides of all connectors, called as one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType

from kernelet.contracts.kv import TransferResults, WorkerSide
from kernelet.contracts.kv_steps import KVPlan, KVReport, decode, encode
from kernelet.contracts.steps import StepPlan
from kernelet.worker.kv_transfer.transfers import Transfers


class WorkerSides:
    """Calls every side in the order of the contract, and holds the fence.

    Attributes:
        waits: Sides that do something before a layer reads its pages.
        saves: Sides that do something after a layer has written its pages.

    Args:
        sides: By name of the connector's offer, in the order of composition.
        transfers: Of the pages that they were given.
    """

    def __init__(self, sides: Mapping[str, WorkerSide], transfers: Transfers) -> None:
        self._sides = MappingProxyType(dict(sides))
        self._transfers = transfers
        self._plans: dict[str, KVPlan] = {}
        self._open: dict[str, set[int]] = {name: set() for name in sides}
        self.waits = tuple(s for s in sides.values() if overrides(s, "wait_for_layer_load"))
        self.saves = tuple(s for s in sides.values() if overrides(s, "save_kv_layer"))

    def handshakes(self) -> dict[str, bytes]:
        """What others need to reach this rank, of those that say it."""
        said = {name: side.get_handshake_metadata() for name, side in self._sides.items()}
        return {name: data for name, data in said.items() if data is not None}

    def fence(self, plan: StepPlan) -> None:
        """First of a step: what it cancels is over when this returns.

        Raises:
            RuntimeError: the plan says nothing of a connector.
        """
        missing = self._sides.keys() - plan.extensions.keys()
        if missing:
            raise RuntimeError(f"step {plan.step} has no plan of the KV connectors {', '.join(sorted(missing))}")
        self._plans = {name: decode(plan.extensions[name], KVPlan) for name in self._sides}
        for name, mine in self._plans.items():
            if mine.cancel:
                self._end(name, mine.cancel)
                self._sides[name].cancel(mine.cancel)

    def start(self) -> None:
        """Once blocks are what the step says."""
        for name, mine in self._plans.items():
            self._open[name].update(mine.loads)
            self._transfers.begin(mine.loads)
            self._sides[name].bind_connector_metadata(mine.meta)
        for side in self._sides.values():
            side.start_load_kv()

    def wait_for(self, layers: Iterable[str]) -> None:
        """Before these read their pages."""
        for layer in layers:
            for side in self.waits:
                side.wait_for_layer_load(layer)

    def save(self, layers: Iterable[str]) -> None:
        """After these have written their pages."""
        for layer in layers:
            for side in self.saves:
                side.save_kv_layer(layer)

    def finish(self) -> dict[str, bytes]:
        """Last of a step: what to tell the engine, by name of the connector's offer."""
        for side in self._sides.values():
            side.wait_for_save()
        return {name: encode(self._report(name, side)) for name, side in self._sides.items()}

    def shutdown(self) -> None:
        """Ends all, and then every access to pages."""
        for side in self._sides.values():
            side.shutdown()
        self._transfers.close()

    def _report(self, name: str, side: WorkerSide) -> KVReport:
        told = side.get_finished()
        received = {number: valid for number, valid in told.received.items() if number in self._open[name]}
        self._end(name, received.keys())
        return KVReport(
            results=TransferResults(received=received, sent=told.sent),
            meta=side.build_connector_worker_meta(),
            stats=dict(side.get_kv_connector_stats()),
        )

    def _end(self, name: str, transfers: Collection[int]) -> None:
        """Of this connector alone: what another one loads is not its to end."""
        mine = self._open[name].intersection(transfers)
        self._open[name] -= mine
        self._transfers.end(mine)


def overrides(side: WorkerSide, method: str) -> bool:
    """Whether the side does something where the contract's own does nothing."""
    return getattr(type(side), method) is not getattr(WorkerSide, method)
