"""Taking a running request's blocks, and what to say when there is nobody to take them from."""

from __future__ import annotations

from kernelet.cache.manager import CacheManager
from kernelet.request.request import Request
from kernelet.scheduler.draft import StepDraft
from kernelet.scheduler.requests import RequestSet


def make_room(
    request: Request, num_tokens: int, requests: RequestSet, cache: CacheManager, draft: StepDraft
) -> tuple[list[int], ...] | None:
    """Gives a running request blocks up to ``num_tokens`` tokens, preempting the worst ones until there are enough.

    Returns:
        The blocks that were added, by group; None: it is the worst itself, and was preempted unless alone.
    """
    while (added := cache.allocate(request, num_tokens)) is None:
        victim = requests.running.last()
        if victim is request and len(requests.running) == 1:
            return None
        preempt(victim, requests, cache, draft)
        if victim is request:
            return None
    return added


def preempt(request: Request, requests: RequestSet, cache: CacheManager, draft: StepDraft) -> None:
    """The request waits again, under the next epoch; the prefix index keeps its full blocks until they are evicted."""
    cache.free(request)
    requests.preempt(request)
    request.epoch += 1
    request.num_computed_tokens = 0
    request.num_placeholders = 0
    draft.preempted.append(request.request_id)
    draft.counters.num_preempted += 1


def too_small(request: Request, cache: CacheManager) -> str:
    """Why a request that runs alone cannot go on."""
    demand = cache.capacity.demand(request, cache.nothing)
    return (
        f"the KV cache is too small for this request of {request.num_tokens} tokens, even alone "
        f"(needed: {cache.capacity.describe(demand)}). Give it more (--num-blocks, --kv-cache-memory-bytes, "
        "--memory-utilization), or send a shorter prompt or a smaller max_tokens."
    )
