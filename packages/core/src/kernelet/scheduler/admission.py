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

    def __init__(self, capacity: Capacity, running: Iterable[Request]) -> None:
        """Looks at the requests that run now."""
        self._capacity = capacity
        self._taken: list[int] | None = None
        for request in running:
            self.reserve(request)

    def reserve(self, request: Request) -> None:
        """Counts a running request: what it still takes for its prompt, and one block."""
        more = [count + 1 for count in self._capacity.outstanding(request)]
        self._taken = more if self._taken is None else [a + b for a, b in zip(self._taken, more, strict=True)]

    def allows(self, request: Request, hit: PrefixHit) -> bool:
        """Whether the request may start after this hit."""
        demand = self._capacity.demand(request, hit)
        if self._taken is not None:
            demand = [a + b for a, b in zip(demand, self._taken, strict=True)]
        return self._capacity.has_free(demand)
