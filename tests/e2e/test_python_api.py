"""The Python API on the demo model: parameters do what they say, whatever else runs beside them."""

from __future__ import annotations

import asyncio
import math

import pytest

from kernelet import AsyncLLM, SamplingParams
from kernelet.errors import ParameterError

PROMPT = "The capital of France is"


def answer(llm, prompt=PROMPT, **params):
    (output,) = llm.generate(prompt, SamplingParams(**{"temperature": 0.0, "max_tokens": 12} | params))
    return output.outputs[0]


def test_greedy_is_the_same_alone_and_in_a_batch(llm):
    alone = answer(llm)
    outputs = llm.generate([PROMPT, "Once upon a time", "def main():"], SamplingParams(temperature=0.0, max_tokens=12))
    assert outputs[0].outputs[0].token_ids == alone.token_ids
    assert "Paris" in alone.text


def test_a_seed_repeats_and_another_does_not(llm):
    texts = [answer(llm, temperature=1.5, seed=seed, max_tokens=20).text for seed in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]


def test_stop_string(llm):
    found = answer(llm, stop=["Paris"], max_tokens=50)
    assert (found.finish_reason, found.stop_reason) == ("stop", "Paris")
    assert "Paris" not in found.text
    kept = answer(llm, stop=["Paris"], max_tokens=50, include_stop_str_in_output=True)
    assert kept.text == found.text + "Paris"


def test_logprobs_are_those_of_the_tokens(llm):
    found = answer(llm, logprobs=5)
    for token, position in zip(found.token_ids, found.logprobs, strict=True):
        assert next(iter(position)) == token
        assert position[token].rank == 1
        assert sum(math.exp(entry.logprob) for entry in position.values()) <= 1.0 + 1e-5
    joined = b"".join(position[token].bytes for token, position in zip(found.token_ids, found.logprobs, strict=True))
    assert joined.decode() == found.text
    assert found.cumulative_logprob == pytest.approx(
        sum(position[token].logprob for token, position in zip(found.token_ids, found.logprobs, strict=True))
    )


def test_a_prompt_is_scored_as_it_would_be_generated(llm):
    found = answer(llm, logprobs=0, max_tokens=4)
    prompt = llm.generate(PROMPT, SamplingParams(max_tokens=0))[0].prompt_token_ids
    (scored,) = llm.generate([[*prompt, *found.token_ids]], SamplingParams(max_tokens=0, prompt_logprobs=0))
    for token, generated, position in zip(found.token_ids, found.logprobs, scored.prompt_logprobs[-4:], strict=True):
        assert position[token].logprob == pytest.approx(generated[token].logprob, abs=1e-4)


def test_bias_allowed_ids_and_bad_words_decide(llm):
    greedy = answer(llm).token_ids[0]
    assert answer(llm, logit_bias={greedy: -100}).token_ids[0] != greedy
    assert set(answer(llm, allowed_token_ids=[10, 11]).token_ids) <= {10, 11}
    assert "Paris" not in answer(llm, bad_words=["Paris"], max_tokens=30).text


def test_min_tokens_and_eos(llm):
    eos = min(llm.frontend.tokenizer.eos_token_ids)
    forced = {"logit_bias": {eos: 100}}
    assert answer(llm, **forced).token_ids == [eos]
    assert answer(llm, **forced, ignore_eos=True, max_tokens=3).token_ids == [eos] * 3
    late = answer(llm, **forced, min_tokens=4)
    assert len(late.token_ids) == 5
    assert eos not in late.token_ids[:4]


@pytest.mark.parametrize(
    "params",
    [
        {"temperature": 100.0},
        {"temperature": 1e-5},
        {"temperature": 1.0, "top_p": 1e-300},
        {"temperature": 1.0, "min_p": 1.0},
        {"temperature": 1.0, "top_k": 1},
        {"presence_penalty": 2.0, "frequency_penalty": 2.0, "repetition_penalty": 100.0},
        {"presence_penalty": -2.0, "frequency_penalty": -2.0, "repetition_penalty": 0.01},
        {"logit_bias": dict.fromkeys(range(4096), -100.0)},
        {"temperature": 1.0, "logprobs": 0, "n": 4},
        {"stop": [f"stop{index}" for index in range(256)]},
    ],
    ids=lambda params: next(iter(params)),
)
def test_the_ends_of_every_range_work(llm, params):
    found = answer(llm, max_tokens=4, **params)
    assert found.finish_reason in {"length", "stop"}


def test_a_wrong_request_does_not_touch_the_next(llm):
    with pytest.raises(ParameterError, match="logit_bias"):
        answer(llm, logit_bias={10**6: 1})
    assert "Paris" in answer(llm).text


def test_answers_share_the_prompt(llm):
    prompt = "A long story about a fox and a goose that lived by a river. " * 4
    llm.reset_prefix_cache()
    before = llm.stats()
    llm.generate(prompt, SamplingParams(n=3, temperature=1.0, max_tokens=2))
    assert llm.stats().prefix_hits - before.prefix_hits >= 2 * 48


def test_asynchronous_requests_and_aborts(smollm2_path, options):
    async def main():
        async with await AsyncLLM.create(str(smollm2_path), **options) as llm:
            endless = SamplingParams(temperature=0.0, max_tokens=400, ignore_eos=True)
            leaving = llm.generate(PROMPT, endless)
            cancelled = asyncio.create_task(read(llm.generate("Once upon a time", endless)))
            kept = asyncio.create_task(read(llm.generate(PROMPT, SamplingParams(temperature=0.0, max_tokens=12))))
            await anext(leaving)
            await leaving.aclose()
            await asyncio.sleep(0.05)
            cancelled.cancel()
            output = await kept
            await llm.reset_prefix_cache()
            return output, await llm.stats()

    async def read(outputs):
        return [output async for output in outputs][-1]

    output, stats = asyncio.run(main())
    assert "Paris" in output.outputs[0].text
    assert stats.finished == {"abort": 2, "length": 1}
