from __future__ import annotations

import json
import math

import msgspec
import numpy as np
import pytest
import torch

from kernelet.contracts.offer import Settings
from kernelet.contracts.sampling import LogitsProcessor, SamplerParams
from kernelet.sampling.custom import NamedProcessor
from kernelet.sampling.ops import SamplingOps, apply_token_mask
from kernelet.sampling.sampler import Sampler
from kernelet.sampling.uniform import uniform

VOCAB = 300


class Boost(LogitsProcessor):
    """Makes one token certain, seeing penalized logits."""

    def __init__(self):
        super().__init__(Settings(plugin="boost"), VOCAB)
        self.tokens, self.seen = {}, []

    def add_request(self, request_id, arguments, prompt_token_ids):
        if "token" in arguments:
            self.tokens[request_id] = arguments["token"]
        return "token" in arguments

    def apply(self, logits, rows):
        for row in rows:
            self.seen.append((row.request_id, list(row.output_token_ids), logits[row.index].clone()))
            logits[row.index, self.tokens[row.request_id]] += 1000.0
        return logits


def random_logits(rows, seed=0, dtype=torch.float32):
    return torch.randn(rows, VOCAB, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def bits(*tokens):
    row = np.zeros(-(-VOCAB // 32) * 32, dtype=np.uint8)
    row[list(tokens)] = 1
    return np.packbits(row, bitorder="little").tobytes()


def expected_token(row, params, prompt, generated, mask=None):
    """The whole pipeline by its definition, one token at a time, in Python floats."""
    logits = list(row)
    for token, value in enumerate(logits):
        times = generated.count(token)
        rep = params.get("repetition_penalty", 1.0)
        if rep != 1.0 and (times or token in prompt):
            logits[token] = value / rep if value > 0 else value * rep
        logits[token] -= params.get("frequency_penalty", 0.0) * times + params.get("presence_penalty", 0.0) * (
            times > 0
        )
        logits[token] += (params.get("logit_bias") or {}).get(token, 0.0)
        allowed = params.get("allowed_token_ids")
        if allowed is not None and token not in allowed:
            logits[token] = -math.inf
        if len(generated) < params.get("min_tokens", 0) and token in params.get("suppressed_token_ids", ()):
            logits[token] = -math.inf
        for word in params.get("bad_words_token_ids", ()):
            if word[-1] == token and tuple(generated[len(generated) - len(word) + 1 :]) == word[:-1]:
                logits[token] = -math.inf
        if mask is not None and token not in mask:
            logits[token] = -math.inf
    temperature = params.get("temperature", 1.0)
    if temperature == 0.0:
        return max(range(len(logits)), key=lambda t: (logits[t], -t))
    order = sorted(range(len(logits)), key=lambda t: (-logits[t], t))
    weights = {t: math.exp((logits[t] - logits[order[0]]) / temperature) for t in order}
    kept = [t for t in order if weights[t] >= params.get("min_p", 0.0)][: params.get("top_k", 0) or None]
    total, cut = sum(weights[t] for t in kept), len(kept)
    for count in range(len(kept), 0, -1):
        if sum(weights[t] for t in kept[:count]) >= params.get("top_p", 1.0) * total:
            cut = count
    kept = sorted(kept[:cut])
    target, running = uniform(7, len(prompt) + len(generated)) * sum(weights[t] for t in kept), 0.0
    for token in kept:
        running += weights[token]
        if running > target:
            return token
    return kept[-1]


PARAMS = [
    {"temperature": 0.0},
    {"temperature": 0.0, "repetition_penalty": 1.4, "presence_penalty": 0.5, "frequency_penalty": 0.3},
    {},
    {"temperature": 0.6},
    {"top_k": 7},
    {"top_p": 0.8, "temperature": 1.4},
    {"min_p": 0.2},
    {"presence_penalty": 2.0, "top_p": 0.9},
    {"logit_bias": {3: 4.0, 8: -100.0}},
    {"allowed_token_ids": tuple(range(0, 300, 7))},
    {"bad_words_token_ids": ((5,), (1, 2)), "temperature": 2.0},
    {"min_tokens": 4, "suppressed_token_ids": (0, 1, 2), "top_k": 20},
    {"top_k": 30, "top_p": 0.9, "min_p": 0.01, "temperature": 0.8, "frequency_penalty": -0.5, "logprobs": 3},
]


def requests_of(seed):
    random = np.random.default_rng(seed)
    return {
        str(i): (values, random.integers(0, VOCAB, 9).tolist(), random.integers(0, 12, i % 6).tolist())
        for i, values in enumerate(PARAMS)
    }


@pytest.mark.parametrize("seed", range(5))
def test_every_parameter_against_the_definition(sampler, seed):
    requests = requests_of(seed)
    logits = random_logits(len(requests), seed, torch.float64) * 2
    expected = [expected_token(row, *requests[name]) for name, row in zip(requests, logits.tolist(), strict=True)]
    outcomes = sampler(VOCAB, requests).sample(logits.clone(), list(requests))
    assert [outcome.token for outcome in outcomes] == expected
    assert not any(outcome.error for outcome in outcomes)


def test_mask_rows_against_the_definition(sampler):
    requests = requests_of(9)
    logits = random_logits(len(requests), 9, torch.float64)
    masks = {name: sorted({4, 50, 51, 299, int(name)}) for name in list(requests)[::2] if name != "11"}
    outcomes = sampler(VOCAB, requests).sample(
        logits.clone(), list(requests), {name: bits(*tokens) for name, tokens in masks.items()}
    )
    for outcome, row in zip(outcomes, logits.tolist(), strict=True):
        name = outcome.request_id
        if name == "10" or name not in masks or "allowed_token_ids" not in requests[name][0]:
            assert outcome.token == expected_token(row, *requests[name], masks.get(name))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
def test_a_row_does_not_depend_on_its_neighbours(sampler, dtype):
    """All rows together, each alone, in another order: the same tokens and log-probabilities, bit for bit."""
    requests = requests_of(3)
    for values, _, _ in requests.values():
        values.setdefault("logprobs", 4)
    logits = random_logits(len(requests), 3, dtype)
    names = list(requests)

    def run(order):
        made = sampler(VOCAB, requests)
        found = made.sample(logits[[names.index(name) for name in order]].clone(), order)
        return {outcome.request_id: (outcome.token, msgspec.json.encode(outcome.logprobs)) for outcome in found}

    together = run(names)
    assert run(names[::-1]) == together
    assert run(names[3:8]) == {name: together[name] for name in names[3:8]}
    for name in names:
        assert run([name]) == {name: together[name]}


def test_history_grows_and_resuming_continues(sampler):
    """Sampled to the end, or handed over in the middle: the same tokens."""
    params = {"repetition_penalty": 1.3, "frequency_penalty": 0.2, "top_p": 0.95, "bad_words_token_ids": ((7,), (9, 3))}
    logits = [random_logits(1, step) for step in range(12)]
    whole = sampler(VOCAB, {"a": (params, [1, 2], [])})
    tokens = [whole.sample(row.clone(), ["a"])[0].token for row in logits]
    for cut in (1, 5, 11):
        resumed = sampler(VOCAB, {"a": (params, [1, 2], tokens[:cut])})
        assert [resumed.sample(row.clone(), ["a"])[0].token for row in logits[cut:]] == tokens[cut:]


def test_seeded_sampling_follows_the_distribution(sampler):
    """Chi-square over 6000 draws of seeds and positions."""
    probabilities = np.array([0.4, 0.3, 0.15, 0.1, 0.05])
    logits = torch.tensor(probabilities).log().float()
    counts = np.zeros(5)
    for seed in range(60):
        names = {str(i): ({"seed": seed}, [0] * i, []) for i in range(100)}
        for outcome in sampler(5, names).sample(logits.repeat(100, 1), list(names)):
            counts[outcome.token] += 1
    expected = probabilities * 6000
    # 4 degrees of freedom; 18.5 is exceeded once in a thousand
    assert ((counts - expected) ** 2 / expected).sum() < 18.5


def test_greedy_takes_the_lowest_id_among_equals(sampler):
    logits = torch.zeros(2, VOCAB)
    logits[:, [40, 41, 299]] = 3.0
    made = sampler(VOCAB, {"a": ({"temperature": 0.0}, [1], []), "b": ({"temperature": 0.0}, [1], [])})
    assert [outcome.token for outcome in made.sample(logits, ["a", "b"])] == [40, 40]


def test_custom_processors_come_after_penalties_and_before_restrictions(sampler):
    boost = Boost()
    requests = {
        "a": ({"temperature": 0.0, "extra_args": {"boost": {"token": 5}}, "presence_penalty": 2.0}, [1], [8]),
        "b": ({"temperature": 0.0}, [1], []),
        "c": ({"temperature": 0.0, "extra_args": {"boost": {"token": 5}}, "allowed_token_ids": (9,)}, [1], []),
    }
    logits = random_logits(3)
    outcomes = sampler(VOCAB, requests, [NamedProcessor("boost", boost)]).sample(logits.clone(), ["a", "b", "c"])
    assert [outcome.token for outcome in outcomes] == [5, int(logits[1].argmax()), 9]
    (name, outputs, row), _ = boost.seen
    assert (name, outputs[:1]) == ("a", [8])
    assert row[8] == logits[0, 8] - 2.0


@pytest.mark.parametrize("value", [math.nan, math.inf])
@pytest.mark.parametrize("values", [*PARAMS[:6], {"logprobs": 2}])
def test_not_finite_logits_end_their_request_only(sampler, value, values):
    logits = random_logits(3)
    logits[1, 17] = value
    names = {name: (values, [1], [2]) for name in "abc"}
    clean = sampler(VOCAB, names).sample(random_logits(3), list("abc"))
    outcomes = sampler(VOCAB, names).sample(logits, list("abc"))
    assert "not finite" in outcomes[1].error
    assert [outcomes[0].token, outcomes[2].token] == [clean[0].token, clean[2].token]


def test_when_nothing_is_left_the_request_ends(sampler):
    values = {"allowed_token_ids": (1, 2), "bad_words_token_ids": ((1,), (2,))}
    made = sampler(VOCAB, {"a": (values, [1], []), "b": ({}, [1], []), "c": ({}, [1], [])})
    a, b, c = made.sample(random_logits(3), ["a", "b", "c"], {"b": bits(), "c": b"short"})
    assert "no token may be chosen" in a.error
    assert "no token may be chosen" in b.error
    assert "mask row of 5 bytes" in c.error
    assert (a.error_parameter, b.error_parameter, c.error_parameter) == ("allowed_token_ids", None, None)


def test_the_field_that_leaves_nothing_is_named(sampler):
    """A grammar, and tokens that a request takes away: not the engine's fault."""
    fields = {"a": {"allowed_token_ids": (5,)}, "b": {"bad_words_token_ids": ((3,),)}}
    made = sampler(VOCAB, {name: (given, [1], []) for name, given in fields.items()})
    a, b = made.sample(random_logits(2), ["a", "b"], {"a": bits(3), "b": bits(3)})
    assert [a.error_parameter, b.error_parameter] == ["allowed_token_ids", "bad_words"]


def test_logprobs_are_of_the_raw_distribution(sampler):
    values = {"temperature": 0.2, "top_k": 1, "allowed_token_ids": (9,), "logprobs": 2, "repetition_penalty": 3.0}
    logits = random_logits(2, 5)
    exact = logits.double().log_softmax(-1)
    made = sampler(VOCAB, {"a": (values, [1], [9]), "b": ({"logprobs": -1}, [1], [])})
    a, b = made.sample(logits.clone(), ["a", "b"])
    assert a.token == 9
    assert a.logprobs.token_ids == [9, *exact[0].topk(2).indices.tolist()]
    assert a.logprobs.logprobs == pytest.approx(exact[0, a.logprobs.token_ids].tolist(), abs=1e-5)
    assert len(b.logprobs.token_ids) == VOCAB + 1
    json.dumps(a.logprobs.logprobs + b.logprobs.logprobs, allow_nan=False)


def test_requests_are_forgotten(sampler):
    made = sampler(VOCAB, {"a": ({}, [1], [])})
    made.remove("a")
    made.remove("a")
    with pytest.raises(KeyError):
        made.sample(random_logits(1), ["a"])


def test_all_masks_of_a_step_are_one_call():
    calls = []

    def apply(logits, masks, rows):
        calls.append((masks.dtype, rows.tolist()))
        return apply_token_mask(logits, masks, rows)

    sampler = Sampler(VOCAB, torch.device("cpu"), ops=SamplingOps(apply_token_mask=apply))
    params = SamplerParams(seed=1, temperature=0.0, min_tokens=2, suppressed_token_ids=(7,))
    for name in "abcd":
        sampler.add(name, params, [1])
    logits = torch.arange(4.0 * VOCAB).reshape(4, VOCAB)
    a, b, c, d = sampler.sample(logits, list("abcd"), {"d": bits(7), "b": bits(3, 7), "c": b"short"})
    assert calls == [(torch.int32, [1, 3])]
    assert (a.token, b.token, d.token) == (VOCAB - 1, 3, 7)  # what must end does, whatever min_tokens says
    assert "does not fit" in c.error
