from __future__ import annotations

import argparse

import pytest

from kernelet.cli.sampling_options import FIELDS, add_sampling_options, sampling_params, with_room
from kernelet.contracts.sampling import SamplingParams
from kernelet.request.validation import validate_sampling_params


@pytest.fixture
def parse():
    parser = argparse.ArgumentParser()
    add_sampling_options(parser)
    return lambda *arguments: parser.parse_args(arguments)


EXAMPLES = {
    "n": (["--n", "2"], 2),
    "temperature": (["--temperature", "0.5"], 0.5),
    "top_p": (["--top-p", "0.5"], 0.5),
    "top_k": (["--top-k", "5"], 5),
    "min_p": (["--min-p", "0.1"], 0.1),
    "presence_penalty": (["--presence-penalty", "-1"], -1.0),
    "frequency_penalty": (["--frequency-penalty", "1"], 1.0),
    "repetition_penalty": (["--repetition-penalty", "1.5"], 1.5),
    "seed": (["--seed", "7"], 7),
    "max_tokens": (["--max-tokens", "9"], 9),
    "min_tokens": (["--min-tokens", "1"], 1),
    "stop": (["--stop", "a", "--stop", "b"], ["a", "b"]),
    "stop_token_ids": (["--stop-token-ids", "1,2"], [1, 2]),
    "ignore_eos": (["--ignore-eos"], True),
    "bad_words": (["--bad-words", "a"], ["a"]),
    "logit_bias": (["--logit-bias", "5=-1.5,6=2"], {5: -1.5, 6: 2.0}),
    "allowed_token_ids": (["--allowed-token-ids", "1,2"], [1, 2]),
    "logprobs": (["--logprobs", "2"], 2),
    "prompt_logprobs": (["--prompt-logprobs", "0"], 0),
    "skip_special_tokens": (["--no-skip-special-tokens"], False),
    "spaces_between_special_tokens": (["--no-spaces-between-special-tokens"], False),
    "include_stop_str_in_output": (["--include-stop-str-in-output"], True),
    "detokenize": (["--no-detokenize"], False),
    "structured_outputs": (["--structured-outputs", '{"regex": "a"}'], {"regex": "a"}),
    "extra_args": (["--extra-args", '{"p": {"x": 1}}'], {"p": {"x": 1}}),
}


def test_every_field_has_a_flag():
    assert set(EXAMPLES) == set(FIELDS) == set(SamplingParams.__struct_fields__)


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_flag_sets_its_field_and_nothing_else(parse, name):
    words, value = EXAMPLES[name]
    params = sampling_params(parse(*words))
    assert getattr(params, name) == value
    others = {field: getattr(params, field) for field in FIELDS if field not in {name, "temperature"}}
    defaults = SamplingParams()
    assert others == {field: getattr(defaults, field) for field in others}
    validate_sampling_params(params, 10, {"p": lambda arguments: None})


def test_the_default_is_greedy(parse):
    assert sampling_params(parse()).temperature == 0.0
    assert sampling_params(parse(), max_tokens=5).max_tokens == 5


@pytest.mark.parametrize(
    "words", [["--n", "x"], ["--logit-bias", "5"], ["--stop-token-ids", "a"], ["--extra-args", "{"]]
)
def test_what_cannot_be_read_is_wrong_usage(parse, words, capsys):
    with pytest.raises(SystemExit) as stop:
        parse(*words)
    assert stop.value.code == 2


@pytest.mark.parametrize(
    "prompt, min_tokens, expected", [(10, 0, 50), (80, 0, 20), (100, 0, None), (200, 0, None), (10, 60, 60)]
)
def test_the_default_length_keeps_within_the_context(prompt, min_tokens, expected):
    assert with_room(SamplingParams(min_tokens=min_tokens), prompt, 100, 50).max_tokens == expected
