"""The worker sides of all connectors, called as one."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping

from kernelet.contracts.kv import WorkerSide
from kernelet.contracts.kv_steps import KVPlan, decode
from kernelet.contracts.steps import StepPlan
from kernelet.errors import KerneletError, PluginError
from kernelet.worker.kv_transfer.guard import GuardedWorker
from kernelet.worker.kv_transfer.transfers import Transfers

logger = logging.getLogger(__name__)


class WorkerSides:
    """Calls every side in the order of the contract. One that fails is called no more, and the others go on.

    Attributes:
        waits: Sides that do something before a layer reads its pages.
        saves: Sides that do something after a layer has written its pages.

    Args:
        sides: By name of the connector's offer, in the order of composition.
        transfers: Of the pages that they were given.
    """

    def __init__(self, sides: Mapping[str, WorkerSide], transfers: Transfers) -> None:
        self._sides = {name: GuardedWorker(name, side, transfers) for name, side in sides.items()}
        self._transfers = transfers
        self.waits = tuple(one for one in self._sides.values() if overrides(one.side, "wait_for_layer_load"))
        self.saves = tuple(one for one in self._sides.values() if overrides(one.side, "save_kv_layer"))

    def handshakes(self) -> dict[str, bytes]:
        """What others need to reach this rank, of those that say it.

        Raises:
            PluginError: one fails.
        """
        said = {name: _handshake(name, one.side) for name, one in self._sides.items()}
        return {name: data for name, data in said.items() if data is not None}

    def fence(self, plan: StepPlan) -> None:
        """First of a step: what it cancels is over when this returns.

        Raises:
            RuntimeError: the plan says nothing of a connector, or one cannot be stopped.
        """
        missing = self._sides.keys() - plan.extensions.keys()
        if missing:
            raise RuntimeError(f"step {plan.step} has no plan of the KV connectors {', '.join(sorted(missing))}")
        for name, one in self._sides.items():
            one.fence(decode(plan.extensions[name], KVPlan))

    def start(self) -> None:
        """Once blocks are what the step says."""
        for one in self._sides.values():
            one.bind()
        for one in self._sides.values():
            one.call(one.side.start_load_kv)

    def wait_for(self, layers: Iterable[str]) -> None:
        """Before these read their pages."""
        for layer in layers:
            for one in self.waits:
                one.call(one.side.wait_for_layer_load, layer)

    def save(self, layers: Iterable[str]) -> None:
        """After these have written their pages."""
        for layer in layers:
            for one in self.saves:
                one.call(one.side.save_kv_layer, layer)

    def finish(self) -> dict[str, bytes]:
        """Last of a step: what to tell the engine, by name of the connector's offer."""
        for one in self._sides.values():
            one.call(one.side.wait_for_save)
        return {name: one.report() for name, one in self._sides.items()}

    def shutdown(self) -> None:
        """Ends all, and then every access to pages."""
        for name, one in self._sides.items():
            try:
                one.shutdown()
            except Exception:
                logger.exception("the worker side of KV connector %s failed as it was shut down", name)
        self._transfers.close()


def overrides(side: WorkerSide, method: str) -> bool:
    """Whether the side does something where the contract's own does nothing."""
    return getattr(type(side), method) is not getattr(WorkerSide, method)


def _handshake(name: str, side: WorkerSide) -> bytes | None:
    try:
        return side.get_handshake_metadata()
    except KerneletError:
        raise
    except Exception as error:
        raise PluginError(
            f"KV connector {name!r} cannot start: get_handshake_metadata() raised {type(error).__name__}: {error}"
        ) from error
