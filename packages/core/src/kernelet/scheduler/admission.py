"""Whether a waiting request may start."""

from __future__ import annotations

from collections.abc import Iterable

from kernelet.cache.capacity import Capacity
from kernelet.cache.tables import PrefixHit
from kernelet.request.request import Request


class Admission:
    """Lets a request in only if all that it has to compute fits beside what the running ones still take.

    A request that was let in with part of its prompt would be preempted before it is done, come back, and be preempted
    again. Each running request also keeps one spare block a group, so that a resumed request is not pushed out by the
    next token of another. One that runs alone needs neither.
    """

    def __init__(self, capacity: Capacity, running: Iterable[Request], holders: Iterable[Request] = ()) -> None:
        """Looks at the requests that have blocks now.

        Args:
            capacity: Of the cache.
            running: Those that run.
            holders: Those that wait with blocks that a KV connector fills or has filled.
        """
        self._capacity = capacity
        self._taken: list[int] | None = None
        self._waiting = {request: self._counts(request) for request in holders}
        for request in running:
            self.reserve(request)

    def reserve(self, request: Request) -> None:
        """Counts a running request: what it still takes for its prompt, and one block."""
        self._waiting.pop(request, None)
        more = self._counts(request)
        self._taken = more if self._taken is None else [a + b for a, b in zip(self._taken, more, strict=True)]

    def reserve_waiting(self, request: Request) -> None:
        """Counts a request that waits with blocks."""
        self._waiting[request] = self._counts(request)

    def drop(self, request: Request) -> None:
        """A request that waited with blocks has none any more."""
        self._waiting.pop(request, None)

    def allows(self, request: Request, hit: PrefixHit) -> bool:
        """Whether the request may start after this hit."""
        return self._fits(self._capacity.demand(request, hit), *self._waiting.values())

    def resumes(self, request: Request) -> bool:
        """Whether a request that waits with blocks may go on. It need not leave room for others of its kind."""
        return self._fits(self._capacity.outstanding(request))

    def _fits(self, demand: list[int], *more: list[int]) -> bool:
        taken = more if self._taken is None else (*more, self._taken)
        return self._capacity.has_free([sum(counts) for counts in zip(demand, *taken, strict=True)])

    def _counts(self, request: Request) -> list[int]:
        return [count + 1 for count in self._capacity.outstanding(request)]
