from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from worker_doubles import POISON, SIZE, true_greedy, true_states
from worker_driver import prompt_of

from kernelet.contracts.executor import ScheduledRequest
from kernelet.contracts.sampling import SamplerParams
from kernelet.worker.batch import HeldRequest
from kernelet.worker.pooling import SLICE, on_host, pool

LENGTH = 19
POOLINGS = ("last", "mean")


def vector(driver, name):
    return np.frombuffer(driver.requests[name].pooled, dtype=np.float32)


def truth(driver, prompt, pooling):
    states = true_states(driver.worker._loaded.model, prompt).numpy()
    return states[-1] if pooling == "last" else states.mean(axis=0)


@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("chunks", [(LENGTH,), (1, 4, 4, 10), (7, 12), (18, 1), (1,) * LENGTH])
def test_states_are_those_of_the_whole_prompt_without_a_cache_however_it_is_cut(driver, pooling, chunks):
    prompt = prompt_of(2, LENGTH)
    driver.add("p", prompt, pooling)
    for count in chunks:
        assert driver.requests["p"].pooled is None
        driver.run({"p": count})
    assert driver.output("p") == []
    np.testing.assert_allclose(vector(driver, "p"), truth(driver, prompt, pooling), rtol=1e-6)


def test_in_a_batch_beside_one_that_generates_after_a_preemption_and_in_another_row(make):
    driver, alone = make(), make()
    prompts = {"last": prompt_of(3, 9), "mean": prompt_of(4, 13)}
    for name, prompt in prompts.items():
        alone.add(name, prompt, name)
        alone.run({name: None})
        driver.add(name, prompt, name)
    driver.add("g", prompt_of(5, 6))
    driver.run({"mean": 5, "g": 3, "last": 2})
    driver.run({"g": None, "mean": 3, "last": 3})
    driver.run({"g": None}, preempted=["mean", "last"])
    driver.run({"last": 4, "g": None, "mean": 1})
    driver.run({"mean": 6, "last": None, "g": None})
    driver.run({"mean": None, "g": None})
    for name in prompts:
        assert driver.requests[name].pooled == alone.requests[name].pooled
    model = driver.worker._loaded.model
    assert driver.output("g") == true_greedy(model, prompt_of(5, 6), 5)


def test_states_that_are_not_finite_fail_their_request_alone(driver):
    driver.add("bad", [1, POISON], "mean")
    driver.add("good", [1, 2], "last")
    result = driver.run({"bad": None, "good": None})
    assert "not finite" in driver.requests["bad"].error
    assert [entry.pooled is None for entry in result.requests] == [True, False]
    assert driver.requests["good"].error is None


def test_a_processor_of_logits_never_sees_it(driver):
    driver.add("p", prompt_of(1, 4), "last")
    driver.run({"p": None})
    assert "p" not in driver.worker._runner._sampler._states
    driver.run({}, finished=["p"])


def held(pooling, prompt=300):
    return HeldRequest("p", 0, SamplerParams(seed=0), num_prompt_tokens=prompt, num_tokens=prompt, pooling=pooling)


def feed(request, rows, cuts):
    """All parts of a prompt, one step each."""
    start, found = 0, {}
    for stop in (*cuts, len(rows)):
        entry = ScheduledRequest(request_id="p", num_tokens=stop - start, num_computed_tokens=start)
        found = pool([(request, entry)], np.array([0, stop - start]), rows[start:stop])
        assert bool(found) == (stop == len(rows) and request.error is None)
        start = stop
    return found.get("p")


@given(
    cuts=st.sets(st.integers(1, 299), max_size=6),
    dtype=st.sampled_from([torch.float32, torch.bfloat16, torch.float64]),
    seed=st.integers(0, 99),
)
def test_no_cut_changes_a_bit_of_a_mean_of_numbers_that_do_not_add_up_exactly(cuts, dtype, seed):
    rows = torch.randn(300, 5, generator=torch.Generator().manual_seed(seed)) * torch.logspace(-9, 9, 5)
    rows = rows.to(dtype)
    whole, cut = feed(held("mean"), rows, ()), feed(held("mean"), rows, sorted(cuts))
    assert whole == cut
    exact = [float(sum(Fraction(float(value)) for value in column) / 300) for column in rows.T]
    np.testing.assert_allclose(np.frombuffer(whole, dtype=np.float32), exact, rtol=1e-6)


@pytest.mark.parametrize("length", [1, SLICE - 1, SLICE, SLICE + 1, 3 * SLICE])
def test_slices(length):
    rows = torch.arange(length * 2, dtype=torch.float64).view(length, 2)
    found = np.frombuffer(feed(held("mean", length), rows, ()), dtype=np.float32)
    assert found.tolist() == [length - 1, length]


def test_a_mean_that_begins_in_the_middle_is_refused():
    request = held("mean", 4)
    entry = ScheduledRequest(request_id="p", num_tokens=2, num_computed_tokens=2)
    assert pool([(request, entry)], np.array([0, 2]), torch.zeros(2, SIZE)) == {}
    assert "needs them in order" in request.error


def test_an_unknown_pooling_and_what_float32_cannot_hold():
    for request, rows, says in (
        (held("cls", 1), torch.zeros(1, 2), "no pooling 'cls'"),
        (held("last", 1), torch.full((1, 2), 1e300, dtype=torch.float64), "not finite"),
    ):
        entry = ScheduledRequest(request_id="p", num_tokens=1, num_computed_tokens=0)
        assert pool([(request, entry)], np.array([0, 1]), rows) == {}
        assert says in request.error


def test_what_generates_and_what_has_failed_is_skipped():
    failed = held("mean", 1)
    failed.error = "before"
    entry = ScheduledRequest(request_id="p", num_tokens=1, num_computed_tokens=0)
    assert pool([(held(None), entry), (failed, entry)], np.array([0, 1, 2]), torch.full((2, 2), torch.nan)) == {}
    assert failed.error == "before"


def test_on_host():
    found = on_host(torch.tensor([[1.5]], dtype=torch.bfloat16))
    assert (found.dtype, found.tolist()) == (np.float64, [[1.5]])
