from __future__ import annotations

import pytest

from kernelet.contracts.stats import FinishedRequest
from kernelet.request.request import Request
from kernelet.request.status import FinishReason
from kernelet.scheduler.records import finished_record
from kernelet.testing.null.harness import null_request


def test_times_count_from_the_arrival():
    request = Request(data=null_request("r", [1, 2], arrival_time=10.0), arrival_index=0)
    with pytest.raises(AssertionError, match="has not ended"):
        finished_record(request, 11.0)
    request.token_ids += [3, 4, 5]
    request.finish_reason, request.epoch, request.num_cached_tokens = FinishReason.STOP, 2, 1
    request.first_scheduled_time, request.first_token_time = 11.0, 12.5
    assert finished_record(request, 15.0) == FinishedRequest(
        request_id="r",
        finish_reason="stop",
        num_prompt_tokens=2,
        num_output_tokens=3,
        num_cached_tokens=1,
        num_preemptions=2,
        queue_s=1.0,
        first_token_s=2.5,
        total_s=5.0,
        max_tokens=request.data.max_tokens,
    )


def test_never_scheduled():
    request = Request(data=null_request("r", [1, 2], arrival_time=10.0), arrival_index=0)
    request.finish_reason = FinishReason.ABORT
    record = finished_record(request, 14.0)
    assert (record.queue_s, record.first_token_s, record.total_s) == (4.0, None, 4.0)
