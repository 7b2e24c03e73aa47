from __future__ import annotations

from kernelet.request.status import FinishReason, RequestStatus


def test_statuses_and_reasons_are_their_words():
    assert str(RequestStatus.PREEMPTED) == "preempted"
    assert {str(reason) for reason in FinishReason} == {"stop", "length", "abort", "error"}
