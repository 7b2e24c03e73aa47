from __future__ import annotations

import pytest

from kernelet.contracts.executor import SampledRequest, ScheduledRequest
from kernelet.contracts.sampling import SamplerParams, TokenLogprobs
from kernelet.errors import FailedParameterError, RequestFailedError
from kernelet.request.request import Request
from kernelet.scheduler.results import apply_result, foretold
from kernelet.testing.null.harness import null_request


def make(prompt=6, pooling=None, **params):
    fields = {"params": SamplerParams(seed=0, **params), "stop_token_ids": (7,), "pooling": pooling}
    data = null_request("r", range(prompt), 4 if pooling is None else 0, **fields)
    return Request(data=data, arrival_index=0)


def entry(start, count, sample=True, epoch=0):
    return ScheduledRequest(request_id="r", num_tokens=count, num_computed_tokens=start, sample=sample, epoch=epoch)


def result(tokens, **fields):
    return SampledRequest(request_id="r", token_ids=tokens, **fields)


def positions(*ids):
    return [TokenLogprobs([token], [-1.0], [1]) for token in ids]


def test_a_chunk_brings_nothing_to_tell():
    request = make()
    progress = apply_result(request, entry(0, 4, sample=False), result([]), 100)
    assert not progress.worth_telling
    assert progress.ending is None
    assert progress.num_stored == 4
    assert request.num_output_tokens == 0


def test_a_token():
    request = make(logprobs=1)
    request.num_placeholders = 2
    progress = apply_result(request, entry(0, 6), result([40], logprobs=positions(40)), 100)
    assert progress.output.token_ids == [40]
    assert progress.output.logprobs == positions(40)
    assert progress.num_stored == 6
    assert (request.token_ids[-1], request.num_placeholders) == (40, 1)


def test_a_stop():
    request = make()
    progress = apply_result(request, entry(0, 6), result([7]), 100)
    assert progress.output.finish_reason == "stop"
    assert progress.output.stop_token_id == 7
    assert progress.output.token_ids == [7]


@pytest.mark.parametrize(
    "answer, text",
    [
        (None, "no result"),
        (result([], error="out of luck"), "^out of luck$"),
        (result([]), "0 tokens of epoch 0, not 1 of epoch 0"),
        (result([1, 2]), "2 tokens"),
        (result([1], epoch=1), "epoch 1, not 1 of epoch 0"),
    ],
)
def test_what_fails_the_request(answer, text):
    request = make()
    with pytest.raises(RequestFailedError, match=text):
        apply_result(request, entry(0, 6), answer, 100)
    assert request.num_output_tokens == 0


def test_what_fails_the_request_by_a_field_of_it():
    answer = result([], error="nothing is left", error_parameter="bad_words")
    with pytest.raises(FailedParameterError, match=r"^bad_words: nothing is left$") as caught:
        apply_result(make(), entry(0, 6), answer, 100)
    assert caught.value.parameter == "bad_words"


def test_prompt_logprobs_come_once():
    request = make(prompt_logprobs=0)
    got = []

    def compute(start, count, given, sample=False):
        answer = result([9] if sample else [], prompt_logprobs=given)
        got.extend(apply_result(request, entry(start, count, sample=sample), answer, 100).output.prompt_logprobs or [])

    compute(0, 2, positions(1, 2))
    compute(2, 1, positions(3))
    compute(0, 4, positions(1, 2, 3, 4))  # after a preemption
    compute(4, 2, positions(5), sample=True)
    assert got == positions(1, 2, 3, 4, 5)
    compute(0, 6, positions(1, 2, 3, 4, 5))
    assert len(got) == 5


def test_missing_prompt_logprobs_fail_the_request():
    with pytest.raises(RequestFailedError, match="0 prompt log-probabilities instead of 5"):
        apply_result(make(prompt_logprobs=0), entry(0, 6), result([9]), 100)


def test_pooled_states_come_with_the_end():
    request = make(pooling="mean")
    progress = apply_result(request, entry(0, 4, sample=False), result([]), 100)
    assert (progress.worth_telling, progress.ending) == (False, None)
    output = apply_result(request, entry(4, 2, sample=False), result([], pooled=b"1234"), 100).output
    assert (output.finish_reason, output.pooled, output.token_ids) == ("stop", b"1234", [])


def test_a_worker_that_pools_nothing():
    with pytest.raises(RequestFailedError, match="knows no pooling"):
        apply_result(make(pooling="last"), entry(0, 6, sample=False), result([]), 100)


class Anything:
    """A grammar that takes every token."""

    def accept(self, token_ids):
        return True

    def can_end(self):
        return True

    def must_end(self):
        return False


def test_what_must_come_is_appended():
    request = make()
    request.grammar = Anything()
    more = iter([41, 42, None])
    progress = apply_result(request, entry(0, 6), result([40]), 100, lambda _: next(more))
    assert progress.output.token_ids == [40, 41, 42]
    assert (progress.num_forced, progress.num_stored, progress.ending) == (2, 6, None)
    # a step that was in flight samples what is known by now
    assert foretold(request, entry(0, 6)) == 40
    assert foretold(request, entry(6, 1)) == 41
    assert foretold(request, entry(6, 1, sample=False)) is None
    assert foretold(request, entry(6, 3)) is None
    progress = apply_result(request, entry(6, 1), result([41]), 100, lambda _: 1 / 0)
    assert not progress.worth_telling
    assert request.output_token_ids == [40, 41, 42]
    with pytest.raises(RequestFailedError, match="does not apply mask rows"):
        apply_result(request, entry(6, 1), result([43]), 100)


def test_what_must_come_may_be_the_end():
    request = make()
    request.grammar = Anything()
    progress = apply_result(request, entry(0, 6), result([40]), 100, lambda _: 7)
    assert progress.output.token_ids == [40, 7]
    assert (progress.output.finish_reason, progress.output.stop_token_id) == ("stop", 7)
    assert progress.output.structured == "enforced"


def test_nothing_must_come_behind_an_end_or_of_a_free_text():
    ended, free = make(), make()
    ended.grammar = Anything()
    assert apply_result(ended, entry(0, 6), result([7]), 100, lambda _: 1 / 0).output.token_ids == [7]
    assert apply_result(free, entry(0, 6), result([40]), 100, lambda _: 1 / 0).output.token_ids == [40]
