from __future__ import annotations

import pytest

from kernelet.request.request import Request
from kernelet.request.status import FinishReason
from kernelet.scheduler.kv.view import KVView
from kernelet.testing.null.harness import null_request


def test_what_is_seen_is_the_request_as_it_stands():
    data = null_request("a", [1, 2, 3], kv_transfer_params={"x": 1}, cache_salt="s")
    request = Request(data=data, arrival_index=0)
    view = KVView(request, b"root")
    assert (view.request_id, view.cache_salt, view.kv_transfer_params) == ("a", "s", {"x": 1})
    assert (list(view.token_ids), view.num_tokens, view.num_prompt_tokens) == ([1, 2, 3], 3, 3)
    assert view.finish_reason is None
    with pytest.raises(ValueError, match="of 4 tokens"):
        view.key(4)
    request.token_ids.append(4)
    request.finish_reason = FinishReason.STOP
    assert (view.num_tokens, view.num_prompt_tokens, view.finish_reason) == (4, 3, "stop")
    assert len(view.key(4)) == 32
