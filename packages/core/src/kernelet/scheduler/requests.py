"""All requests of an engine, and which of them run and wait."""

from __future__ import annotations

from collections.abc import Iterator

from kernelet.contracts.executor import SchedulingPolicy
from kernelet.errors import RequestError
from kernelet.request.request import EngineRequest, Request
from kernelet.request.status import RequestStatus
from kernelet.scheduler.queue import Rank, RankedRequests


class RequestSet:
    """Keeps each request in one of four orders, ``running``, ``waiting``, ``compiling`` and ``remote``, by its status.

    A policy is asked once a request, when it comes in.
    """

    def __init__(self, policy: SchedulingPolicy) -> None:
        self.running = RankedRequests()
        self.waiting = RankedRequests()
        self.compiling = RankedRequests()
        self.remote = RankedRequests()
        self._policy = policy
        self._all: dict[str, Request] = {}
        self._ranks: dict[str, Rank] = {}
        self._arrived = 0

    def get(self, request_id: str) -> Request | None:
        """A request that has not ended."""
        return self._all.get(request_id)

    def add(self, data: EngineRequest) -> Request:
        """A request comes in and waits: where it is held to a constraint, for its grammar first.

        Raises:
            RequestError: its id is in use.
        """
        if data.request_id in self._all:
            raise RequestError(f"request id {data.request_id!r} is in use; every request needs its own")
        request = Request(data=data, arrival_index=self._arrived)
        rank = (*(float(part) for part in self._policy.key(request)), float(request.arrival_index))
        self._arrived += 1
        self._all[request.request_id] = request
        self._ranks[request.request_id] = rank
        if data.structured is not None:
            request.status = RequestStatus.WAITING_FOR_STRUCTURED_OUTPUT_GRAMMAR
        self._order(request).add(rank, request)
        return request

    def compiled(self, request: Request) -> None:
        """A request has its grammar, and waits in the place that it would have had without one."""
        self._move(request, RequestStatus.WAITING)

    def park(self, request: Request) -> None:
        """A waiting request waits for a KV connector."""
        self._move(request, RequestStatus.WAITING_FOR_REMOTE_KVS)

    def unpark(self, request: Request) -> None:
        """A request waits for a KV connector no more, and has its old place."""
        self._move(request, RequestStatus.WAITING)

    def start(self, request: Request) -> None:
        """A waiting request runs."""
        self._move(request, RequestStatus.RUNNING)

    def preempt(self, request: Request) -> None:
        """A running request waits again, in its old place."""
        self._move(request, RequestStatus.PREEMPTED)

    def behind(self, request: Request, other: Request) -> bool:
        """Whether a request is worse than another."""
        return self._ranks[request.request_id] > self._ranks[other.request_id]

    def end(self, request: Request) -> None:
        """A request leaves."""
        rank = self._ranks.pop(request.request_id)
        del self._all[request.request_id]
        self._order(request).remove(rank, request)
        request.status = RequestStatus.FINISHED

    def _move(self, request: Request, status: RequestStatus) -> None:
        rank = self._ranks[request.request_id]
        self._order(request).remove(rank, request)
        request.status = status
        self._order(request).add(rank, request)

    def _order(self, request: Request) -> RankedRequests:
        match request.status:
            case RequestStatus.RUNNING:
                return self.running
            case RequestStatus.WAITING_FOR_STRUCTURED_OUTPUT_GRAMMAR:
                return self.compiling
            case RequestStatus.WAITING_FOR_REMOTE_KVS:
                return self.remote
            case _:
                return self.waiting

    @property
    def num_waiting(self) -> int:
        """Requests that do not run, whatever they wait for."""
        return len(self._all) - len(self.running)

    def __iter__(self) -> Iterator[Request]:
        """Over a copy, in order of arrival."""
        return iter(list(self._all.values()))

    def __len__(self) -> int:
        return len(self._all)
