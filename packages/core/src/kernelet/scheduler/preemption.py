"""Taking a running request's blocks, and what to say when there is nobody to take them from."""

from __future__ import annotations

from kernelet.cache.manager import CacheManager
from kernelet.request.request import Request
from kernelet.scheduler.draft import StepDraft
from kernelet.scheduler.kv.remote import RemoteKV
from kernelet.scheduler.requests import RequestSet


def make_room(
    request: Request,
    num_tokens: int,
    requests: RequestSet,
    cache: CacheManager,
    draft: StepDraft,
    remote: RemoteKV | None = None,
) -> tuple[list[int], ...] | None:
    """Gives a running request blocks up to ``num_tokens`` tokens, preempting the worst ones until there are enough.

    Requests that wait with blocks are among them. Blocks that come back after a step are waited for.

    Returns:
        The blocks that were added, by group; None: it was preempted, or waits, or is alone and the cache too small.
    """
    while (added := cache.allocate(request, num_tokens)) is None:
        victim = requests.running.last()
        if remote is not None and not remote.fenced and remote.make_way(victim) is not None:
            continue
        if remote is not None and remote.fenced:
            return None
        if victim is request and len(requests.running) == 1 and not (remote is not None and remote.has_ready):
            return None
        preempt(victim, requests, cache, draft, remote)
        if victim is request:
            return None
    return added


def preempt(
    request: Request, requests: RequestSet, cache: CacheManager, draft: StepDraft, remote: RemoteKV | None = None
) -> None:
    """The request waits again, under the next epoch; the prefix index keeps its full blocks until they are evicted."""
    if remote is not None:
        remote.lose(request)
    cache.free(request)
    requests.preempt(request)
    request.epoch += 1
    request.num_computed_tokens = request.num_done_tokens = 0
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
