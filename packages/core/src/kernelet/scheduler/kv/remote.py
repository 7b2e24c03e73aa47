"""All that the scheduler has to do with KV connectors."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from kernelet.cache.keys import stream_root
from kernelet.cache.manager import CacheManager
from kernelet.config.kv import KVTransferConfig
from kernelet.contracts.kv import KVIdentity, KVStep, Later
from kernelet.contracts.kv_steps import KVPlan, KVReport, decode, encode
from kernelet.contracts.steps import ScheduledRequest
from kernelet.request.request import Request
from kernelet.scheduler.kv.connectors import Connector, Connectors, Promise
from kernelet.scheduler.kv.counters import KVCounters
from kernelet.scheduler.kv.fences import Fences
from kernelet.scheduler.kv.handovers import Handovers, undelivered
from kernelet.scheduler.kv.loads import Loads
from kernelet.scheduler.kv.view import KVView
from kernelet.scheduler.requests import RequestSet


@dataclass(frozen=True, kw_only=True)
class KVSetup:
    """The connectors of an engine, made.

    Attributes:
        connectors: In the operator's order.
        identity: What keys begin with.
        config: Policy and deadlines.
        num_ranks: How many tell of each transfer.
    """

    connectors: Sequence[Connector]
    identity: KVIdentity
    config: KVTransferConfig = field(default_factory=KVTransferConfig)
    num_ranks: int = 1


class RemoteKV:
    """Knows which requests connectors load, whose blocks transfers hold, and what steps tell workers of it."""

    def __init__(
        self,
        setup: KVSetup,
        requests: RequestSet,
        cache: CacheManager,
        fail: Callable[[Request, Exception], None],
        clock: Callable[[], float],
    ) -> None:
        """Starts with nothing open.

        Args:
            setup: The connectors.
            requests: The scheduler's.
            cache: The scheduler's.
            fail: Ends a request with an error.
            clock: Of the deadlines.
        """
        self._identity = setup.identity
        self._requests = requests
        self._cache = cache
        self._clock = clock
        self._connectors = Connectors(setup.connectors)
        self._num_ranks = setup.num_ranks
        self._counters = KVCounters()
        self._fences = Fences(cache)
        shared: dict[str, Any] = {
            "cache": cache,
            "connectors": self._connectors,
            "fences": self._fences,
            "counters": self._counters,
            "config": setup.config,
            "num_ranks": setup.num_ranks,
            "new_number": itertools.count(1).__next__,
            "clock": clock,
        }
        self._loads = Loads(requests=requests, fail=fail, **shared)
        self._handovers = Handovers(**shared)
        self._abandoned = False
        self._preempted: list[str] = []
        self._finished: list[str] = []

    # --- requests --------------------------------------------------------------------------------

    def add(self, request: Request) -> None:
        """A request came in.

        Raises:
            RequestFailedError: a connector is switched off without which its answer is worth nothing.
            ParameterError: a connector refuses it.
        """
        for connector in self._connectors:
            if connector.side.off and connector.requires_delivery:
                raise undelivered(connector)
        view = KVView(request, stream_root(self._identity, request.data.cache_salt))
        self._connectors.on_new_request(view)
        self._loads.track(request, view)

    def ask(self, request: Request, num_computed_tokens: int) -> Promise | Later | None:
        """What connectors have of a waiting request beyond its first tokens."""
        return self._loads.ask(request, num_computed_tokens)

    def load(self, request: Request, promise: Promise | None, step: int) -> bool:
        """A waiting request starts: its blocks are those of ``request.num_computed_tokens``, which a load moves on.

        The last token is always computed, whatever was promised.

        Args:
            request: Was let in.
            promise: Of ``ask``.
            step: Number of this step.

        Returns:
            Whether it has to wait until the load is over.
        """
        start = request.num_computed_tokens
        end = start if promise is None else min(start + promise.ticket.num_tokens, request.num_tokens - 1)
        if promise is None or end <= start:
            self._loads.nothing(request)
            return False
        request.num_computed_tokens = end
        if self._cache.allocate(request, end) is None:
            raise RuntimeError("a request was let in without room for what is loaded of it")
        self._loads.begin(request, promise, start, None if promise.ticket.load_async else step)
        return promise.ticket.load_async

    def started(self, request: Request) -> None:
        """A request runs."""
        self._loads.holders.discard(request)

    def lose(self, request: Request) -> None:
        """A request is about to be preempted."""
        self._loads.lose(request)
        self._preempted.append(request.request_id)

    def ended(self, request: Request) -> dict[str, Any] | None:
        """A request ended and has its blocks still; returns what its client is told.

        Raises:
            RequestFailedError: what it computed could not be handed over.
        """
        if self._abandoned:
            return None
        self._finished.append(request.request_id)
        return self._handovers.begin(request, self._loads.forget(request))

    # --- blocks ----------------------------------------------------------------------------------

    @property
    def holders(self) -> set[Request]:
        """Requests that hold blocks and do not run."""
        return self._loads.holders

    def is_ready(self, request: Request) -> bool:
        """Whether a waiting request has blocks: its load is over."""
        return request in self._loads.holders and not self._loads.loading(request)

    @property
    def has_ready(self) -> bool:
        """Whether a request waits with blocks whose load is over."""
        return any(not self._loads.loading(request) for request in self._loads.holders)

    @property
    def holds_blocks(self) -> bool:
        """Whether transfers hold blocks that will be free without anybody's doing."""
        loading = any(self._loads.loading(request) for request in self._loads.holders)
        return loading or self._handovers.any_open or self._fences.holding

    @property
    def fenced(self) -> bool:
        """Whether blocks will be free once the step that goes out next has ended."""
        return self._fences.holding

    def make_way(self, request: Request, *, ready: bool = False) -> Request | None:
        """Takes the blocks of the worst request that does not run and ranks behind; at once, or by the next step.

        Args:
            request: Needs blocks.
            ready: Only from one whose load is over: at once.

        Returns:
            Whose they were; None: there is none.
        """
        behind = [
            one
            for one in self._loads.holders
            if self._requests.behind(one, request) and not (ready and self._loads.loading(one))
        ]
        if not behind:
            return None
        worst = behind[0]
        for one in behind:
            worst = one if self._requests.behind(one, worst) else worst
        loading = self._loads.loading(worst)
        self.lose(worst)
        self._cache.free(worst)
        worst.num_computed_tokens = worst.num_done_tokens = 0
        if loading:
            self._requests.unpark(worst)
        return worst

    # --- steps -----------------------------------------------------------------------------------

    def poll(self) -> None:
        """Connectors that failed, deadlines, and answers that were not there; before anything is scheduled."""
        for connector in self._connectors.take_off():
            self._loads.drop(connector)
            self._handovers.drop(connector)
        self._loads.poll()
        self._handovers.poll()

    @property
    def busy(self) -> bool:
        """Whether steps must go on though no request needs one."""
        waits = self._loads.any_open or self._handovers.any_open or self._fences.pending or self._fences.holding
        return waits or bool(self._loads.spoiled) or self._connectors.has_pending_work()

    def wants_step(self, *, in_flight: bool) -> bool:
        """Whether a step must go out though nothing is computed in it."""
        if self._fences.pending or self._loads.begun or self._loads.spoiled:
            return True
        return not in_flight and (self.busy or len(self._requests.remote) > 0)

    def take_spoiled(self) -> list[str]:
        """Requests that workers must forget: what a step computes of them is worth nothing."""
        spoiled, self._loads.spoiled = self._loads.spoiled, []
        return spoiled

    def extensions(self, step: int, scheduled: Sequence[tuple[Request, ScheduledRequest]]) -> dict[str, bytes]:
        """What a step tells the workers of each connector."""
        out = KVStep(
            step=step,
            scheduled=self._loads.scheduled(scheduled),
            preempted=tuple(self._preempted),
            finished=tuple(self._finished),
        )
        self._preempted, self._finished = [], []
        metas = self._connectors.build_connector_meta(out)
        off, begun, cancels = self._connectors.off, dict(self._loads.told()), self._fences.send(step)
        return {
            name: encode(
                KVPlan(
                    meta=meta,
                    cancel=tuple(cancels.get(name, ())),
                    loads=tuple(load.number for load in begun.get(name, ())),
                    sync_loads=tuple(load.number for load in begun.get(name, ()) if load.step is not None),
                )
                if name not in off
                else KVPlan(off=True, cancel=tuple(cancels.get(name, ())))
            )
            for name, meta in metas.items()
        }

    def receive(self, step: int, extensions: Mapping[str, Sequence[bytes]]) -> None:
        """A step has ended: what every rank tells of each connector.

        Raises:
            RuntimeError: a rank tells nothing.
        """
        for connector in self._connectors:
            reports = extensions.get(connector.name, ())
            if len(reports) != self._num_ranks:
                raise RuntimeError(
                    f"{len(reports)} of {self._num_ranks} ranks told of KV connector {connector.name}: the platform's "
                    "worker, or the executor, does not carry what steps say of connectors"
                )
            self._receive(connector, [_read(connector, rank, report) for rank, report in enumerate(reports)])
        self._loads.step_ended(step)
        self._fences.ended(step)

    def _receive(self, connector: Connector, reports: Sequence[KVReport]) -> None:
        for rank, report in enumerate(reports):
            self._loads.received(connector, rank, report.results.received)
            self._handovers.sent(connector, rank, report.results.sent)
            self._counters.add(connector.name, report.stats)
        metas = [report.meta for report in reports]
        if any(metas):
            connector.side.update_connector_output(metas)

    def stats(self) -> dict[str, Any]:
        """Fields of ``StepStats``: what was counted since the last call, and who waits."""
        since = self._loads.oldest()
        return {
            **self._counters.take(),
            "kv_connectors_off": tuple(self._connectors.off),
            "num_waiting_remote": len(self._requests.remote),
            "waiting_remote_s": 0.0 if since is None else self._clock() - since,
        }

    # --- the end ---------------------------------------------------------------------------------

    def abandon(self) -> None:
        """The engine has failed: of requests that end connectors are not told any more."""
        self._abandoned = True

    def reset_cache(self) -> None:
        """What connectors keep is forgotten.

        Raises:
            PluginError: some of them have not.
        """
        self._loads.take_back()
        self._connectors.reset_cache()

    def shutdown(self) -> None:
        """Connectors end."""
        self._connectors.shutdown()


def _read(connector: Connector, rank: int, data: bytes) -> KVReport:
    """What a rank tells of a connector, which is switched off if it failed there, or told what nobody understands."""
    try:
        report = decode(data, KVReport)
    except msgspec.DecodeError as error:
        connector.side.switch_off(f"what rank {rank} tells of it cannot be read: {error}")
        return KVReport()
    if report.failed:
        connector.side.switch_off(f"{report.failed} (rank {rank})", report.trace)
    return report
