"""A wrong request gets one error that names what is wrong, before the engine sees it, and the next request works."""

from __future__ import annotations

import pytest
from wrong_requests import CASES, WRONG, WRONG_PROMPTS

from kernelet import SamplingParams
from kernelet.contracts.sampling import SamplerParams
from kernelet.errors import KerneletError, ParameterError, PromptError
from kernelet.testing.null.tokens import generate


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
    assert len(client._sinks) == 0
    assert client._running.core.cache.capacity.usage == 0.0
