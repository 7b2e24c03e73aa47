"""A wrong request gets one error that names what is wrong, before the engine sees it, and the next request works."""

from __future__ import annotations

import numpy as np
import pytest

from kernelet import SamplingParams
from kernelet.contracts.sampling import SamplerParams
from kernelet.errors import KerneletError, ParameterError, PromptError
from kernelet.testing.null.tokens import generate

NAN, INF = float("nan"), float("inf")
NO_NUMBERS = ["1", "", [], {}, True, np.bool_(True), NAN, INF, -INF, 1j, object()]
NO_FLAGS = [None, 0, 1, "true", [], NAN]

WRONG = {
    "n": [None, 0, -1, 1.0, 10**6, *NO_NUMBERS],
    "temperature": [None, -0.001, 1e6, *NO_NUMBERS],
    "top_p": [None, 0, -0.5, 1.0001, np.float32(2), *NO_NUMBERS],
    "top_k": [None, -2, 0.5, 2**40, *NO_NUMBERS],
    "min_p": [None, -0.001, 1.001, *NO_NUMBERS],
    "presence_penalty": [None, -2.001, 2.001, *NO_NUMBERS],
    "frequency_penalty": [None, -2.001, 2.001, *NO_NUMBERS],
    "repetition_penalty": [None, 0, -1, 1e9, *NO_NUMBERS],
    "seed": [-1, 2**64, 0.5, *NO_NUMBERS],
    "max_tokens": [-1, 0.5, 64, 10**30, *NO_NUMBERS],
    "min_tokens": [None, -1, 0.5, 17, 10**30, *NO_NUMBERS],
    "stop": [1, True, b"x", "", [""], [1], [None], [["x"]], ["\ud800"], ["s"] * 10_000, ["s" * 10**6], {"a": "b"}],
    "stop_token_ids": [1, "1", [-1], [260], [1.0], ["1"], [None], [True], [10**30], [1] * 10_000],
    "ignore_eos": NO_FLAGS,
    "bad_words": [1, "word", [""], [" "], [1], ["\ud800"], ["w"] * 10_000, ["w" * 10**6]],
    "logit_bias": [1, "x", [1], {260: 1}, {-1: 1}, {"AI": -100}, {1: 101}, {1: NAN}, {1: "x"}, {1: None}, {1.5: 1}],
    "allowed_token_ids": [1, "1", [], [-1], [260], [1.0], [None], [1] * 10_000],
    "logprobs": [-2, 0.5, 261, *NO_NUMBERS],
    "prompt_logprobs": [-2, 0.5, 261, *NO_NUMBERS],
    "skip_special_tokens": NO_FLAGS,
    "spaces_between_special_tokens": NO_FLAGS,
    "include_stop_str_in_output": NO_FLAGS,
    "detokenize": NO_FLAGS,
    "extra_args": [1, "x", [1], {"unknown": {}}, {1: {}}, {"core": {"x": 1}}],
}
CASES = [(name, value) for name, values in WRONG.items() for value in values]

WRONG_PROMPTS = {
    "empty text": "",
    "no ids": [[]],
    "empty ids": {"prompt_token_ids": []},
    "beyond the vocabulary": [260],
    "negative id": {"prompt_token_ids": [1, -1]},
    "huge id": {"prompt_token_ids": [10**30]},
    "no integers": {"prompt_token_ids": [1.5]},
    "text for ids": {"prompt_token_ids": "abc"},
    "no prompt": None,
    "a number": 5,
    "unknown key": {"text": "x"},
    "surrogate": "\udc00",
    "at the context": "x" * 64,
    "beyond the context": "x" * 65,
    "far beyond": "x" * 10_000,
}


def works(llm):
    (output,) = llm.generate("next", SamplingParams(temperature=0.0, max_tokens=4))
    return output.outputs[0].token_ids == generate(list(b"next"), SamplerParams(seed=0, temperature=0.0), 260, 4)


def refused(llm, prompt, params):
    before = llm.stats().num_steps
    with pytest.raises(KerneletError) as caught:
        llm.generate(prompt, params)
    assert llm.stats().num_steps == before, "it reached the engine"
    assert len(str(caught.value)) < 500
    return caught.value


def test_the_table_has_every_field():
    assert set(WRONG) == set(SamplingParams.__struct_fields__)


@pytest.mark.parametrize("name, value", CASES, ids=lambda value: repr(value).partition(" at 0x")[0][:25])
def test_a_wrong_value_is_refused_and_the_next_request_works(llm, name, value):
    error = refused(llm, "x", SamplingParams(**{name: value}))
    assert isinstance(error, ParameterError)
    assert error.parameter.startswith(name)
    assert str(error).startswith(name)
    assert works(llm)


@pytest.mark.parametrize("prompt", WRONG_PROMPTS.values(), ids=WRONG_PROMPTS)
def test_a_wrong_prompt_is_refused_and_the_next_request_works(llm, prompt):
    assert isinstance(refused(llm, prompt, SamplingParams(max_tokens=None)), PromptError)
    assert works(llm)


@pytest.mark.parametrize("max_tokens", [None, 0, 1, 2, 3, 64, 65])
@pytest.mark.parametrize("prompt_len", [62, 63, 64, 65])
def test_lengths_around_the_context(llm, prompt_len, max_tokens):
    fits = prompt_len + (1 if max_tokens is None else max_tokens) <= 64
    params = SamplingParams(temperature=0.0, max_tokens=max_tokens, ignore_eos=True)
    if fits:
        (output,) = llm.generate("x" * prompt_len, params)
        expected = 64 - prompt_len if max_tokens is None else max_tokens
        assert len(output.outputs[0].token_ids) == expected
        assert output.outputs[0].finish_reason == "length"
    else:
        assert "-" not in str(refused(llm, "x" * prompt_len, params)).replace("max-", "")
    assert works(llm)


def test_one_wrong_request_among_good_ones_stops_all_of_them(llm):
    params = [SamplingParams(), SamplingParams(top_p=5.0), SamplingParams()]
    error = refused(llm, ["a", "b", "c"], params)
    assert str(error).startswith("prompts[1]: top_p: got 5.0")
    assert works(llm)


def test_nothing_is_left_behind(llm):
    llm.reset_prefix_cache()
    client = llm.frontend.client
    assert client._sinks == {}
    assert client._running.core.cache.capacity.usage == 0.0
