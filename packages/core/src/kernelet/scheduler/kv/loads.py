"""Loads: from what a connector promised to what came, and what becomes of a request to which it did not come."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from kernelet.cache.manager import CacheManager
from kernelet.config.kv import FAIL, KVTransferConfig
from kernelet.contracts.kv import LATER, Later, ScheduledKV
from kernelet.contracts.steps import ScheduledRequest
from kernelet.errors import RequestFailedError
from kernelet.request.request import Request
from kernelet.scheduler.kv.connectors import Connector, Connectors, Promise
from kernelet.scheduler.kv.counters import OFF, SHORT, TIMEOUT, UNCONFIRMED, KVCounters
from kernelet.scheduler.kv.fences import Fences
from kernelet.scheduler.kv.quorum import Quorum
from kernelet.scheduler.kv.view import KVView
from kernelet.scheduler.progress import hit_limit
from kernelet.scheduler.requests import RequestSet


@dataclass(eq=False, kw_only=True)
class Load:
    """A transfer from a connector into a request's blocks.

    Attributes:
        start: Tokens that were there before.
        end: Tokens that are there after.
        step: The step that computes the rest, of a sync load.
    """

    number: int
    connector: Connector
    start: int
    end: int
    told: Quorum
    step: int | None = None


@dataclass(eq=False, kw_only=True)
class RemoteRequest:
    """A request and what connectors have to do with it.

    Attributes:
        missed: A load has failed: connectors are not asked any more.
        asked: They were asked since it last had blocks.
        since: When it began to wait for a connector; None: it does not.
        spent: Seconds of the deadline that answers of LATER took before.
        load: The open one.
    """

    request: Request
    view: KVView
    missed: bool = False
    asked: bool = False
    since: float | None = None
    spent: float = 0.0
    load: Load | None = None


@dataclass(eq=False, kw_only=True)
class Loads:
    """Asks connectors, and holds them to what they say.

    Attributes:
        fail: Ends a request with an error.
        holders: Requests that do not run and hold blocks: loads go on, or are over.
        spoiled: Requests that a step computed on what did not come, of which the workers have not been told.
        begun: Loads of which the workers have not been told, by connector.
    """

    cache: CacheManager
    requests: RequestSet
    connectors: Connectors
    fences: Fences
    counters: KVCounters
    config: KVTransferConfig
    num_ranks: int
    new_number: Callable[[], int]
    clock: Callable[[], float]
    fail: Callable[[Request, Exception], None]
    holders: set[Request] = field(default_factory=set)
    spoiled: list[str] = field(default_factory=list)
    begun: dict[str, list[Load]] = field(default_factory=dict)
    _remote: dict[Request, RemoteRequest] = field(default_factory=dict)
    _open: dict[int, RemoteRequest] = field(default_factory=dict)

    def track(self, request: Request, view: KVView) -> None:
        """A request came in."""
        self._remote[request] = RemoteRequest(request=request, view=view)

    def scheduled(self, entries: Iterable[tuple[Request, ScheduledRequest]]) -> tuple[ScheduledKV, ...]:
        """What connectors see of a step: not what it computes of requests that are being loaded."""
        found = []
        for request, entry in entries:
            remote = self._remote[request]
            if remote.load is None:
                one = ScheduledKV(
                    request=remote.view,
                    num_computed_tokens=entry.num_computed_tokens,
                    num_scheduled_tokens=entry.num_tokens,
                    block_ids=self.cache.block_lists(request),
                )
                found.append(one)
        return tuple(found)

    def loading(self, request: Request) -> bool:
        """Whether a load of it is open."""
        return self._remote[request].load is not None

    def oldest(self) -> float | None:
        """Since when the request waits that waits longest for a connector."""
        waits = [self._remote[one].since for one in self.requests.remote]
        return min((since for since in waits if since is not None), default=None)

    @property
    def any_open(self) -> bool:
        """Whether workers will tell of a load."""
        return bool(self._open)

    # --- asking ----------------------------------------------------------------------------------

    def ask(self, request: Request, num_computed_tokens: int) -> Promise | Later | None:
        """What connectors have beyond the first tokens of a request that holds no blocks."""
        remote = self._remote[request]
        if remote.missed or hit_limit(request) is not None or num_computed_tokens >= request.num_tokens - 1:
            return None
        remote.asked = True
        answer = self.connectors.ask(remote.view, num_computed_tokens)
        if answer is LATER and remote.since is None:
            remote.since = self.clock() - remote.spent
        return answer

    def nothing(self, request: Request) -> None:
        """A request starts without a load."""
        remote = self._remote[request]
        self._asked(remote, request.num_computed_tokens)
        remote.spent = 0.0
        self.connectors.settle(remote.view)

    def begin(self, request: Request, promise: Promise, start: int, step: int | None = None) -> None:
        """Loads what was promised: up to ``request.num_computed_tokens``, for which it has blocks.

        Args:
            request: It waits until the load is over, unless this step computes the rest of it.
            promise: Not settled.
            start: Tokens that are there already.
            step: The number of this step, for a sync load.
        """
        remote = self._remote[request]
        load = Load(
            number=self.new_number(),
            connector=promise.connector,
            start=start,
            end=request.num_computed_tokens,
            told=Quorum(self.num_ranks),
            step=step,
        )
        self._asked(remote, start)
        remote.load, remote.since = load, self.clock() - remote.spent
        self._open[load.number] = remote
        self.begun.setdefault(promise.connector.name, []).append(load)
        if step is None:
            self.holders.add(request)
            self.requests.park(request)
        self.connectors.settle(remote.view, promise.connector)
        promise.connector.side.update_state_after_alloc(
            remote.view, load.number, load.start, load.end, self.cache.block_lists(request)
        )

    # --- what comes of it ------------------------------------------------------------------------

    def poll(self) -> None:
        """Asks again where the answer was LATER, and ends what takes too long."""
        for request in self.requests.remote:
            try:
                self._look_after(self._remote[request], self.clock())
            except Exception as error:  # noqa: BLE001 - whatever it is, it is this request's alone
                self.fail(request, error)

    def received(self, connector: Connector, rank: int, results: Mapping[int, int]) -> None:
        """A rank tells of loads; those that are over, unknown or another connector's are skipped."""
        for number, count in results.items():
            remote = self._open.get(number)
            if remote is None or remote.load is None or remote.load.connector is not connector:
                continue
            if remote.load.told.tell(rank, count):
                self._over(remote, remote.load)

    def step_ended(self, step: int) -> None:
        """Sync loads of a step that are open now did not come."""
        found = [(remote, remote.load) for remote in self._open.values()]
        for remote, load in found:
            if load is not None and load.step == step:
                self._spoil(remote.request)
                self._cut(remote)
                self._give_up(remote.request)
                self._failed(remote, UNCONFIRMED, f"{load.connector.name} had not confirmed them when their step ended")

    def drop(self, connector: Connector) -> None:
        """A connector is switched off: its loads have failed; those of a step end with it."""
        found = [(remote, remote.load) for remote in self._open.values()]
        for remote, load in found:
            if load is not None and load.connector is connector and load.step is None:
                self._cut(remote)
                self._give_up(remote.request)
                self.requests.unpark(remote.request)
                self._failed(remote, OFF, f"{connector.name} is switched off ({connector.side.off})")

    def take_back(self) -> None:
        """What connectors have said and nobody has taken up is worth nothing any more: they are asked anew."""
        for remote in self._remote.values():
            if remote.load is None:
                self.connectors.settle(remote.view)

    def lose(self, request: Request) -> None:
        """A request is about to lose its blocks, and will be asked about again."""
        remote = self._remote[request]
        if remote.load is not None:
            self._cut(remote)
        self.holders.discard(request)
        self.connectors.request_preempted(remote.view)

    def forget(self, request: Request) -> KVView:
        """A request ends, and has its blocks still."""
        remote = self._remote.pop(request)
        if remote.load is not None:
            self._cut(remote)
        self.holders.discard(request)
        self.connectors.settle(remote.view)
        return remote.view

    def told(self) -> Iterator[tuple[str, list[Load]]]:
        """The loads of which the next step tells the workers, by connector, without those that are over already."""
        begun, self.begun = self.begun, {}
        for name, loads in begun.items():
            yield name, [load for load in loads if load.number in self._open]

    # --- inside ----------------------------------------------------------------------------------

    def _look_after(self, remote: RemoteRequest, now: float) -> None:
        request = remote.request
        assert remote.since is not None, f"{request.request_id} waits for nothing"
        if now - remote.since >= self.config.load_timeout:
            self._expire(remote)
        elif remote.load is None:
            hit = self.cache.lookup(request, hit_limit(request))
            if self.ask(request, hit.num_tokens) is not LATER:
                remote.spent, remote.since = now - remote.since, None
                self.requests.unpark(request)

    def _over(self, remote: RemoteRequest, load: Load) -> None:
        """Every rank has told of a load."""
        request, promised = remote.request, load.end - load.start
        valid = max(0, min(load.told.least, promised))
        self._close(remote)
        self.counters.loaded(valid)
        if load.step is not None and valid == promised:
            request.num_done_tokens = load.end
            return
        if load.step is not None:
            self._spoil(request)
        good = load.start + valid
        if self.cache.reaches(request, good):
            request.num_computed_tokens = request.num_done_tokens = good
            self.cache.store(request, good)
            self.holders.add(request)
        else:
            self._give_up(request)
        if load.step is None:
            self.requests.unpark(request)
        if valid < promised:
            self._failed(remote, SHORT, f"{load.connector.name} brought {valid} of {promised} tokens")

    def _expire(self, remote: RemoteRequest) -> None:
        what = "nobody knew what there is to load"
        if remote.load is not None:
            what = f"{remote.load.connector.name} brought nothing"
            self._cut(remote)
            self._give_up(remote.request)
        self.connectors.settle(remote.view)
        self.requests.unpark(remote.request)
        self._failed(remote, TIMEOUT, f"{what} within {self.config.load_timeout:g} s (--kv-load-timeout)")

    def _cut(self, remote: RemoteRequest) -> None:
        """Ends an open load before it is over; its request is about to give up its blocks."""
        load = remote.load
        assert load is not None
        self.fences.raise_(load.connector.name, load.number, self.cache.hold(remote.request))
        self._close(remote)
        load.connector.side.cancel(load.number)

    def _close(self, remote: RemoteRequest) -> None:
        assert remote.load is not None
        del self._open[remote.load.number]
        remote.load = remote.since = None
        remote.spent = 0.0

    def _spoil(self, request: Request) -> None:
        """What a step computes of a request is worth nothing; as at a preemption, but its blocks are another matter."""
        self.requests.preempt(request)
        request.epoch += 1
        request.num_computed_tokens = request.num_placeholders = 0
        self.spoiled.append(request.request_id)

    def _give_up(self, request: Request) -> None:
        self.cache.free(request)
        self.holders.discard(request)
        request.num_computed_tokens = request.num_done_tokens = 0

    def _asked(self, remote: RemoteRequest, num_computed_tokens: int) -> None:
        if remote.asked:
            self.counters.external_queries += remote.request.num_tokens - num_computed_tokens
        remote.asked = False

    def _failed(self, remote: RemoteRequest, kind: str, what: str) -> None:
        remote.missed, remote.since, remote.spent = True, None, 0.0
        self.counters.failures[kind] += 1
        if self.config.load_failure_policy == FAIL:
            self.fail(
                remote.request,
                RequestFailedError(
                    f"its keys and values could not be loaded: {what}. Send it again, or let what is missing be "
                    "computed (--kv-load-failure-policy recompute)"
                ),
            )
