"""One connector's worker side, which is called no more once it has failed."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Collection
from typing import Any, ParamSpec, TypeVar

from kernelet.contracts.kv import TransferResults, WorkerSide
from kernelet.contracts.kv_steps import KVPlan, KVReport, encode
from kernelet.worker.kv_transfer.transfers import Transfers

P = ParamSpec("P")
T = TypeVar("T")

TOLD_TO = "the engine has switched it off"
"""Why a side has ended that did not fail itself."""


class GuardedWorker:
    """Passes calls on, and holds the fence. The first that raises ends the side; its report says so from then on.

    Args:
        name: Of the connector.
        side: The connector's own.
        transfers: Of the pages that it was given.

    Attributes:
        side: The connector's own.
    """

    def __init__(self, name: str, side: WorkerSide, transfers: Transfers) -> None:
        self.side = side
        self._name = name
        self._transfers = transfers
        self._open: set[int] = set()
        self._plan = KVPlan()
        self._failed = KVReport()
        self._off = self._closed = False

    def fence(self, plan: KVPlan) -> None:
        """First of a step: what it cancels is over when this returns, and everything if it is switched off.

        Raises:
            RuntimeError: it cannot be stopped, and may write into pages.
        """
        self._plan = plan
        if plan.off and not self._off:
            self._end_all()
        elif plan.cancel and self._off:
            if not (self._closed or self._tries(self.side.cancel, plan.cancel)):
                self._give_up()
        elif plan.cancel:
            self._end(plan.cancel)
            self.call(self.side.cancel, plan.cancel)

    def bind(self) -> None:
        """Once blocks are what the step says."""
        if not self._off:
            self._open.update(self._plan.loads)
            self._transfers.begin(self._plan.loads)
            self.call(self.side.bind_connector_metadata, self._plan.meta)

    def call(self, method: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | None:
        """What a method of the side answers; None: it has failed, now or before.

        Raises:
            RuntimeError: it cannot be stopped, and may write into pages.
        """
        if self._off:
            return None
        try:
            return method(*args, **kwargs)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the connector's alone
            name = getattr(method, "__name__", repr(method))
            failed = f"{name}() raised {type(error).__name__}: {error}"
            self._failed = KVReport(failed=failed, trace=traceback.format_exc())
            self._end_all()
            return None

    def report(self) -> bytes:
        """Last of a step: a ``KVReport``."""
        told = self.call(self.side.get_finished)
        meta = self.call(self.side.build_connector_worker_meta)
        stats = self.call(self.side.get_kv_connector_stats)
        report = self.call(self._report, told, meta, stats)
        return encode(self._failed) if report is None else report

    def shutdown(self) -> None:
        """Ends the side, if it has not ended."""
        if not self._off:
            self._off = True
            self.side.shutdown()

    # --- inside ----------------------------------------------------------------------------------

    def _report(self, told: object, meta: object, stats: Any) -> bytes:
        if not isinstance(told, TransferResults):
            raise TypeError(f"get_finished() answered {told!r:.100}, expected TransferResults")
        if not isinstance(meta, bytes):
            raise TypeError(f"build_connector_worker_meta() answered {meta!r:.100}, expected bytes")
        received = {number: valid for number, valid in told.received.items() if number in self._open}
        results = TransferResults(received=received, sent=told.sent)
        report = encode(KVReport(results=results, meta=meta, stats=dict(stats)))
        self._end(received.keys())
        return report

    def _end(self, transfers: Collection[int]) -> None:
        """Of this connector alone: what another one loads is not its to end."""
        mine = self._open.intersection(transfers)
        self._open -= mine
        self._transfers.end(mine)

    def _end_all(self) -> None:
        """When it returns nothing of the side touches a page, and it is not called any more."""
        self._off = True
        transfers = (*self._open, *self._plan.cancel)
        self._end(transfers)
        cancelled = self._tries(self.side.cancel, transfers)
        self._closed = self._tries(self.side.shutdown)
        if not (cancelled or self._closed):
            self._give_up()

    def _tries(self, method: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> bool:
        try:
            method(*args, **kwargs)
        except Exception:  # noqa: BLE001 - it has failed before, and that is told
            return False
        return True

    def _give_up(self) -> None:
        """It failed and cannot be stopped: harmless if it writes through pages alone, which refuse it."""
        if self._transfers.bypassed:
            raise RuntimeError(
                f"KV connector {self._name} has failed ({self._failed.failed or TOLD_TO}) and can be stopped neither "
                "by cancel() nor by shutdown(): it may write into blocks that other requests have"
            )
