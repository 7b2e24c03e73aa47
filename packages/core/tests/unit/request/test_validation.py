from __future__ import annotations

import itertools

import pytest

from kernelet.contracts.sampling import SamplingParams
from kernelet.errors import ParameterError, RequestError
from kernelet.request.fields import SAMPLING_FIELDS
from kernelet.request.validation import validate_sampling_params

VOCAB = 49152
NAN, INF = float("nan"), float("inf")
WRONG_NUMBERS = ["1", [1], {}, True, NAN, INF, -INF, 1j]

BAD: dict[str, list[object]] = {
    "n": [None, 0, -1, 129, 1.5, *WRONG_NUMBERS],
    "temperature": [None, -0.1, 101, 1e308, *WRONG_NUMBERS],
    "top_p": [None, 0, 0.0, -0.1, 1.01, *WRONG_NUMBERS],
    "top_k": [None, -2, 1.5, 2**31, *WRONG_NUMBERS],
    "min_p": [None, -0.1, 1.1, *WRONG_NUMBERS],
    "presence_penalty": [None, -2.1, 2.1, *WRONG_NUMBERS],
    "frequency_penalty": [None, -2.1, 2.1, *WRONG_NUMBERS],
    "repetition_penalty": [None, 0, -1, 1e-300, 1e300, *WRONG_NUMBERS],
    "seed": [-1, 2**63, 1.5, *WRONG_NUMBERS],
    "max_tokens": [-1, 2**31, 1.5, *WRONG_NUMBERS],
    "min_tokens": [None, -1, 17, 2**31, *WRONG_NUMBERS],
    "stop": [5, [5], [""], "", ["a", None], b"x", ["x"] * 10_000, ["x" * 20_000], ["\udcff"], {"a": 1}],
    "stop_token_ids": [5, "5", [VOCAB], [-1], ["5"], [1.0], [True], list(range(2000)), [10**30]],
    "ignore_eos": [None, 1, "yes", [], 0.0],
    "bad_words": ["word", [5], [""], ["x"] * 10_000, ["x" * 100_000], ["\udcff"]],
    "logit_bias": [5, [5], {VOCAB: 1}, {-1: 1}, {"5": 1}, {5: NAN}, {5: 101}, {5: "x"}, dict.fromkeys(range(5000), 1)],
    "allowed_token_ids": [5, "5", [], [VOCAB], [-1], [1.5], [0] * (VOCAB + 1)],
    "logprobs": [-2, VOCAB + 1, 1.5, *WRONG_NUMBERS],
    "prompt_logprobs": [-2, VOCAB + 1, 1.5, *WRONG_NUMBERS],
    "skip_special_tokens": [None, 1, "yes"],
    "spaces_between_special_tokens": [None, 1, "yes"],
    "include_stop_str_in_output": [None, 1, "yes"],
    "detokenize": [None, 1, "yes"],
    "structured_outputs": [5, "json", {}, {"regex": "a", "grammar": "b"}, {"nobody": 1}, {"choice": []}, {"regex": 5}],
    "extra_args": [5, [5], {"nobody": {}}, {"taker": 5}, {"taker": {5: 5}}, {5: {}}],
}
CASES = list(itertools.chain.from_iterable(zip(itertools.repeat(name), rows) for name, rows in BAD.items()))


def accept(arguments):
    pass


def test_the_table_has_every_field():
    assert set(BAD) == set(SAMPLING_FIELDS) | {"extra_args"}


@pytest.mark.parametrize("name, value", CASES, ids=lambda value: repr(value)[:30])
def test_each_wrong_value_is_one_error_that_names_its_field(name, value):
    with pytest.raises(ParameterError) as caught:
        validate_sampling_params(SamplingParams(**{name: value}), VOCAB, {"taker": accept})
    assert caught.value.parameter.startswith(name)
    assert isinstance(caught.value, RequestError)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("value", [None, {}, "greedy", {"temperature": 0}, 5])
def test_what_is_no_sampling_params_is_refused(value):
    with pytest.raises(ParameterError, match="expected SamplingParams"):
        validate_sampling_params(value, VOCAB)


def test_defaults_pass_unchanged():
    assert validate_sampling_params(SamplingParams(), VOCAB) == SamplingParams()


def test_the_input_is_not_changed():
    given = SamplingParams(stop="x", top_k=-1)
    validate_sampling_params(given, VOCAB)
    assert given == SamplingParams(stop="x", top_k=-1)


def test_min_tokens_beyond_max_tokens():
    with pytest.raises(ParameterError, match="beyond max_tokens 4"):
        validate_sampling_params(SamplingParams(max_tokens=4, min_tokens=5), VOCAB)


def test_stop_strings_need_text():
    with pytest.raises(ParameterError, match="detokenize"):
        validate_sampling_params(SamplingParams(stop="x", detokenize=False), VOCAB)


def test_allowed_ids_that_all_stop_leave_nothing_before_min_tokens():
    with pytest.raises(ParameterError, match="min_tokens"):
        validate_sampling_params(SamplingParams(allowed_token_ids=[5], stop_token_ids=[5], min_tokens=1), VOCAB)


def test_arguments_of_an_active_plugin_pass():
    params = SamplingParams(extra_args={"taker": {"strength": 2}})
    assert validate_sampling_params(params, VOCAB, {"taker": accept}).extra_args == {"taker": {"strength": 2}}
