from __future__ import annotations

import math

import numpy as np
import pytest
from worker_doubles import POISON, VOCAB, true_greedy, true_logits
from worker_driver import log_softmax, prompt_of

from kernelet.contracts.executor import BlockCopy


def model_of(driver):
    return driver.worker._loaded.model


def generate(driver, name, count, chunk=None):
    """Prompt in chunks, then ``count`` tokens."""
    left = len(driver.requests[name].prompt)
    while chunk is not None and left > chunk:
        driver.run({name: chunk})
        left -= chunk
    for _ in range(count):
        driver.run({name: None})
    return driver.output(name)


def test_greedy_tokens_are_those_of_the_whole_sequence_without_a_cache(driver):
    driver.add("a", prompt_of(1, 17))
    assert generate(driver, "a", 12) == true_greedy(model_of(driver), prompt_of(1, 17), 12)


@pytest.mark.parametrize("chunk", [1, 3, 4, 5, 16])
@pytest.mark.parametrize("params", [{}, {"temperature": 1.2, "top_p": 0.95}, {"temperature": 0.9}])
def test_chunks_change_nothing(make, chunk, params):
    whole, cut = make(), make()
    for driver in (whole, cut):
        driver.add("a", prompt_of(2, 19), **params)
    assert generate(cut, "a", 8, chunk) == generate(whole, "a", 8)


def test_mixed_batches_change_nothing(make):
    """Requests that come and go at other times, prompts beside decodes: each gets what it gets alone."""
    prompts = {name: prompt_of(seed, length) for seed, (name, length) in enumerate({"a": 9, "b": 1, "c": 14}.items())}
    params = {"a": {}, "b": {"temperature": 1.0, "repetition_penalty": 1.3}, "c": {"temperature": 1.5, "top_k": 9}}
    alone = {}
    for name, prompt in prompts.items():
        driver = make()
        driver.add(name, prompt, **params[name])
        alone[name] = generate(driver, name, 7)
    driver = make()
    for name, prompt in prompts.items():
        driver.add(name, prompt, **params[name])
    driver.run({"b": None, "a": 4})
    driver.run({"c": 6, "a": None, "b": None})
    driver.run({"a": None, "c": None, "b": None})
    for _ in range(4):
        driver.run({"c": None, "b": None, "a": None})
    for name, tokens in alone.items():
        got = driver.output(name)
        assert got == tokens[: len(got)]
        assert len(got) >= 5


def test_a_preempted_request_goes_on_where_it_was(make):
    whole, cut = make(), make()
    for driver in (whole, cut):
        driver.add("a", prompt_of(4, 11), temperature=1.3, frequency_penalty=0.4, seed=5)
        driver.add("b", prompt_of(5, 3))
    expected = generate(whole, "a", 9)
    generate(cut, "a", 4)
    cut.run({"b": None}, preempted=("a",))
    cut.run({"a": 6, "b": None})
    assert cut.requests["a"].epoch == 1
    assert generate(cut, "a", 5) == expected


def test_two_steps_in_flight_change_nothing(make):
    one, two = make(), make()
    for driver in (one, two):
        driver.add("a", prompt_of(6, 9), temperature=1.1)
        driver.add("b", prompt_of(7, 5), presence_penalty=0.8, seed=2)
    for _ in range(6):
        one.run({"a": None, "b": None})
    plans = [two.plan({"a": None, "b": None})]
    two.worker.execute_model(plans[0])
    for step in range(6):
        if step < 5:
            plans.append(two.plan({"a": None, "b": None}))  # its tokens are placeholders still
            two.worker.execute_model(plans[-1])
        two.take(plans[step])
    assert two.output("a") == one.output("a")
    assert two.output("b") == one.output("b")
    assert len(two.output("a")) == 6


def test_finished_requests_are_forgotten_and_rows_are_used_again(make):
    driver = make(max_num_seqs=2)
    batch = driver.worker._runner._batch
    for number in range(7):
        name = f"r{number}"
        driver.add(name, prompt_of(number, 6))
        finished = (f"r{number - 1}",) if number else ()
        driver.run({name: None}, finished=finished)
        assert len(batch) == 1
        assert len(batch.tokens) == 2
        assert driver.output(name) == true_greedy(model_of(driver), prompt_of(number, 6), 1)
    driver.run({}, finished=("r6", "unknown"))
    assert len(batch) == 0
    assert not any(table.ids.any() for table in batch.tables)


def test_a_request_that_fails_hurts_nobody_else(make):
    """NaN logits, ids outside the vocabulary, a mask of the wrong size, nothing left to choose: each ends alone."""
    clean, driver = make(max_num_seqs=8), make(max_num_seqs=8)
    for one in (clean, driver):
        one.add("good", prompt_of(1, 9), temperature=0.8, logprobs=2)
    expected = generate(clean, "good", 4)
    driver.add("nan", [1, POISON, 3], prompt_logprobs=1)
    driver.add("nan too", [1, POISON, 3])
    driver.add("outside", [1, 2], logit_bias={VOCAB: 1.0})
    driver.add("mask", [1, 2])
    driver.add("nothing", [1, 2], allowed_token_ids=(4,), bad_words_token_ids=((4,),))
    bad = ["nan", "nan too", "outside", "mask", "nothing"]
    driver.run({"nan": None, "good": None, **dict.fromkeys(bad[1:])}, {"mask": b"123"})
    assert all(driver.requests[name].error for name in bad)
    assert "not finite" in driver.requests["nan"].error
    assert "outside the vocabulary" in driver.requests["outside"].error
    driver.run({"good": None}, finished=bad)
    driver.run({"good": None})
    driver.run({"good": None})
    assert driver.output("good") == expected
    assert driver.requests["good"].error is None
    for got, alone in zip(driver.requests["good"].logprobs, clean.requests["good"].logprobs, strict=True):
        assert got.token_ids == alone.token_ids
        assert got.logprobs == pytest.approx(alone.logprobs, abs=1e-12)


def test_a_failed_request_in_the_next_step_in_flight_fails_again(driver):
    driver.add("bad", [POISON, 2])
    driver.add("good", [3, 2])
    first = driver.plan({"bad": None, "good": None})
    second = driver.plan({"bad": None, "good": None})
    driver.worker.execute_model(first)
    driver.worker.execute_model(second)
    driver.take(first)
    assert driver.take(second).requests[0].error
    assert driver.output("good") == true_greedy(model_of(driver), [3, 2], 2)


def test_wrong_plans_for_one_request_are_its_own_error(driver):
    driver.add("a", [1, 2, 3])
    driver.add("b", [1, 2, 3])
    plan = driver.plan({"a": None, "b": None})
    drafts = type(plan)(
        step=plan.step,
        new=plan.new,
        scheduled=(plan.scheduled[0], type(plan.scheduled[1])(request_id="b", num_tokens=5, num_computed_tokens=0)),
    )
    driver.worker.execute_model(drafts)
    result = driver.take(plan)
    assert result.requests[0].error is None
    assert "computes tokens 0 to 5 of a request with 3" in result.requests[1].error


@pytest.mark.parametrize("chunk", [1, 4, 7, 30])
@pytest.mark.parametrize("count", [0, 3, -1])
def test_prompt_logprobs_across_chunks(make, chunk, count):
    driver = make()
    prompt = prompt_of(8, 13)
    driver.add("a", prompt, prompt_logprobs=count, logprobs=count)
    generate(driver, "a", 1, chunk)
    rows = [log_softmax(row) for row in true_logits(model_of(driver), prompt).tolist()]
    found = driver.requests["a"].prompt_logprobs
    assert [entry.token_ids[0] for entry in found] == prompt[1:]
    for row, entry in zip(rows, [*found, *driver.requests["a"].logprobs], strict=True):
        order = sorted(range(VOCAB), key=lambda token: -row[token])
        best = order if count < 0 else order[:count]
        assert entry.token_ids[1:] == best
        assert entry.logprobs == pytest.approx([row[token] for token in entry.token_ids], abs=1e-9)
        assert entry.ranks == [order.index(token) + 1 for token in entry.token_ids]
        assert all(math.isfinite(value) for value in entry.logprobs)


def test_logits_are_computed_only_where_needed(driver, monkeypatch):
    rows = []
    compute = model_of(driver).compute_logits
    monkeypatch.setattr(model_of(driver), "compute_logits", lambda states: rows.append(len(states)) or compute(states))
    driver.add("a", prompt_of(1, 20))
    driver.add("b", prompt_of(2, 6))
    driver.run({"a": 8, "b": 2})
    assert rows == []
    driver.run({"a": 8, "b": None})
    assert rows == [1]
    assert model_of(driver).passes[-2:] == [10, 12]


def test_masks_reach_the_sampler(driver):
    driver.add("a", [1, 2])
    driver.add("b", [1, 2])
    bits = np.zeros(64, dtype=np.uint8)
    bits[41] = 1
    driver.run({"a": None, "b": None}, {"a": np.packbits(bits, bitorder="little").tobytes()})
    assert driver.output("a") == [41]
    assert driver.output("b") == true_greedy(model_of(driver), [1, 2], 1)


def test_copied_blocks_hold_the_same_prefix(driver):
    """A request whose first blocks are copies of another's goes on as that one does."""
    prompt = prompt_of(3, 8)
    driver.add("a", prompt)
    driver.run({"a": None})
    plan = driver.plan({}, copies=[BlockCopy(group, block, block + 50) for group in (0, 1) for block in (2, 3)])
    driver.worker.execute_model(plan)
    driver.take(plan)
    for layer in model_of(driver).layers:
        cache = layer.bound[1]
        assert cache[2:4].any()
        assert cache[2:4].equal(cache[52:54])
