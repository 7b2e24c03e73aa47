"""What is kept of a request that has ended."""

from __future__ import annotations

from kernelet.contracts.stats import FinishedRequest
from kernelet.request.request import Request


def finished_record(request: Request, now: float) -> FinishedRequest:
    """The statistics of a request that has just ended; ``now`` is of the clock of its arrival."""
    assert request.finish_reason is not None, f"{request.request_id} has not ended"
    arrival = request.arrival_time
    scheduled, first = request.first_scheduled_time, request.first_token_time
    return FinishedRequest(
        request_id=request.request_id,
        finish_reason=request.finish_reason.value,
        num_prompt_tokens=request.num_prompt_tokens,
        num_output_tokens=request.num_output_tokens,
        num_cached_tokens=request.num_cached_tokens,
        num_preemptions=request.epoch,
        queue_s=(now if scheduled is None else scheduled) - arrival,
        first_token_s=None if first is None else first - arrival,
        total_s=now - arrival,
        max_tokens=request.data.max_tokens,
    )
