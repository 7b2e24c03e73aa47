from __future__ import annotations

import pytest

from kernelet.contracts.sampling import SamplerParams, SamplingParams
from kernelet.engine.input_processor import PreparedRequest
from kernelet.engine.owned_request import OwnedRequest
from kernelet.errors import EngineDeadError
from kernelet.request.outputs import EngineOutput
from kernelet.request.request import EngineRequest
from kernelet.request.status import FinishReason


class Client:
    """Keeps what it was told."""

    def __init__(self):
        self.added, self.aborted = [], []

    def add(self, requests, sink):
        self.added.append([request.request_id for request in requests])

    def abort(self, request_ids, reason=FinishReason.ABORT):
        self.aborted.append((list(request_ids), str(reason)))


def prepared(n=1, prompt=(1, 2, 3, 4)):
    choices = tuple(
        EngineRequest(
            request_id=f"r/{index}" if n > 1 else "r",
            prompt_token_ids=list(prompt),
            params=SamplerParams(seed=index),
            max_tokens=5,
        )
        for index in range(n)
    )
    return PreparedRequest(
        request_id="r",
        prompt=None,
        prompt_token_ids=list(prompt),
        params=SamplingParams(n=n),
        eos_token_ids=frozenset(),
        choices=choices,
    )


@pytest.fixture
def client():
    return Client()


def own(client, request, share_from=None):
    return OwnedRequest(client, request, lambda outputs: None, None, share_from)


def end(name):
    return EngineOutput(request_id=name, token_ids=[7], finish_reason="length")


def test_leaving_a_finished_request_aborts_nothing(client):
    with own(client, prepared()) as request:
        output = request.update([end("r")])
        assert output.finished
        assert request.finished
    assert client.added == [["r"]]
    assert client.aborted == []


def test_leaving_an_unfinished_request_aborts_it(client):
    with own(client, prepared()) as request:
        request.update([EngineOutput(request_id="r", token_ids=[7])])
    assert client.aborted == [(["r"], "abort")]


def test_only_what_still_runs_is_aborted(client):
    with own(client, prepared(3)) as request:
        request.update([end("r/1")])
    assert client.added == [["r/0", "r/1", "r/2"]]
    assert client.aborted == [(["r/0", "r/2"], "abort")]


def test_a_long_prompt_is_computed_once_for_all_answers(client):
    with own(client, prepared(3), share_from=4) as request:
        assert client.added == [["r/0"]]
        request.update([EngineOutput(request_id="r/0", token_ids=[7])])
        assert client.added == [["r/0"], ["r/1", "r/2"]]
        request.update([EngineOutput(request_id="r/0", token_ids=[7])])
        assert len(client.added) == 2


def test_a_short_prompt_is_not_held_back(client):
    with own(client, prepared(2), share_from=5):
        assert client.added == [["r/0", "r/1"]]


def test_answers_that_were_held_back_are_never_sent_after_an_abort(client):
    with own(client, prepared(2), share_from=1) as request:
        output = request.aborted()
        assert output.finished
        assert [choice.finish_reason for choice in output.outputs] == ["abort", "abort"]
        request.update([end("r/0")])
    assert client.added == [["r/0"]]


def test_a_dead_engine_is_raised(client):
    with own(client, prepared()) as request, pytest.raises(EngineDeadError, match="gone"):
        request.update(EngineDeadError("gone"))


def test_a_failure_is_told(client):
    with own(client, prepared()) as request:
        request.update([EngineOutput(request_id="r", token_ids=[], finish_reason="error", error="it broke")])
        assert (request.error, request.error_parameter) == ("it broke", None)
    assert client.aborted == []
