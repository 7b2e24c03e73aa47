from __future__ import annotations

import pytest
from hypothesis import given

from kernelet.config import CacheConfig
from kernelet.request.outputs import EngineOutput
from kernelet.testing.null.harness import null_core, null_engine_config
from kernelet.testing.null.tokens import digests, generate, pooled
from kernelet.testing.scenarios import Outcome, Shape, arrivals, compare, make_arrivals, run

SHAPE = Shape(vocab_size=30, max_prompt=40, max_shared=20, max_output=8)


def truth(request):
    return generate(request.prompt_token_ids, request.params, 30, request.max_tokens)


def make_core():
    return null_core(null_engine_config(vocab_size=30, max_model_len=64, cache=CacheConfig(num_blocks=40)))[0]


def test_a_function_of_its_numbers():
    first = make_arrivals(SHAPE, 3, 20, 10)
    assert make_arrivals(SHAPE, 3, 20, 10) == first
    assert make_arrivals(SHAPE, 3, 5, 10) == first[:5]
    assert make_arrivals(SHAPE, 4, 20, 10) != first


@given(arrivals(SHAPE, max_count=20))
def test_requests_are_within_the_shape(scenario):
    assert 1 <= len(scenario) <= 20
    for arrival in scenario:
        assert 1 <= len(arrival.request.prompt_token_ids) <= 40
        assert set(arrival.request.prompt_token_ids) <= set(range(30))
        assert 0 <= arrival.request.max_tokens <= 8


def test_it_means_to_stress_everything():
    scenario = make_arrivals(SHAPE, 1, 200, 50)
    requests = [arrival.request for arrival in scenario]
    assert any(arrival.abort_after is not None for arrival in scenario)
    assert any(request.max_tokens == 0 for request in requests)
    assert {request.cache_salt for request in requests} == {"", "salt"}
    assert {request.params.temperature for request in requests} == {0.0, 0.8}
    assert any(request.params.prompt_logprobs is not None for request in requests)
    heads = [tuple(request.prompt_token_ids[:10]) for request in requests]
    assert max(heads.count(head) for head in heads) > 20


def test_run_and_compare():
    scenario = make_arrivals(SHAPE, 1, 30, 5)
    got = run(make_core(), scenario)
    compare(scenario, got, truth)
    assert got.total("num_decode_tokens") == sum(len(outcome.token_ids) for outcome in got.outcomes.values())
    assert got.mixed_batches > 0


def test_a_difference_is_found():
    scenario = make_arrivals(Shape(vocab_size=30, aborts=False, max_prompt=9, max_shared=5), 1, 3, 0)
    got = run(make_core(), scenario)
    compare(scenario, got, truth)
    with pytest.raises(AssertionError, match="instead of"):
        compare(scenario, got, lambda request: [*truth(request)[:-1], 99])
    got.outcomes["r1"].error = "broken"
    with pytest.raises(AssertionError, match="r1: broken"):
        compare(scenario, got, truth)


def test_lost_blocks_are_found():
    core = make_core()
    core.cache.pools[0].allocate(1)
    with pytest.raises(AssertionError, match="1 references, 0 holders"):
        run(core, make_arrivals(SHAPE, 1, 2, 0))


def test_output_after_the_end():
    outcome = Outcome()
    outcome.add(EngineOutput(request_id="r", token_ids=[1], finish_reason="stop"))
    with pytest.raises(AssertionError, match="after its end"):
        outcome.add(EngineOutput(request_id="r", token_ids=[2]))


def test_a_fifth_is_pooled():
    shape = Shape(vocab_size=30, max_prompt=40, max_shared=20, max_output=8, aborts=False, pooling=True)
    scenario = make_arrivals(shape, 1, 100, 5)
    requests = {arrival.request.request_id: arrival.request for arrival in scenario}
    wanted = {name for name, request in requests.items() if request.pooling is not None}
    assert 10 < len(wanted) < 35
    assert {requests[name].pooling for name in wanted} == {"last", "mean"}
    got = run(make_core(), scenario)
    assert {name for name, outcome in got.outcomes.items() if outcome.pooled} == wanted

    def states(request):
        return pooled(digests(request.prompt_token_ids), request.pooling)

    compare(scenario, got, truth, states)
    with pytest.raises(AssertionError, match="nobody knows the truth"):
        compare(scenario, got, truth)
    got.outcomes[min(wanted)].pooled = bytes(16)
    with pytest.raises(AssertionError, match=f"{min(wanted)}: other states were pooled"):
        compare(scenario, got, truth, states)
