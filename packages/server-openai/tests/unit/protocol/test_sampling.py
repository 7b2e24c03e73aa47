from __future__ import annotations

import msgspec
import pytest

from kernelet.contracts.sampling import SamplingParams
from kernelet_server_openai.protocol.chat import ChatCompletionRequest
from kernelet_server_openai.protocol.errors import ApiError
from kernelet_server_openai.protocol.sampling import PASSED, SamplingFields, StreamOptions, check_logprobs

GIVEN = {
    "n": 2,
    "temperature": 0.5,
    "top_p": 0.9,
    "top_k": 7,
    "min_p": 0.1,
    "presence_penalty": 0.2,
    "frequency_penalty": 0.3,
    "repetition_penalty": 1.1,
    "seed": 5,
    "min_tokens": 1,
    "stop": ["x"],
    "stop_token_ids": [3],
    "ignore_eos": True,
    "bad_words": ["bad"],
    "allowed_token_ids": [1, 2],
    "prompt_logprobs": 1,
    "skip_special_tokens": False,
    "spaces_between_special_tokens": False,
    "include_stop_str_in_output": True,
    "extra_args": {"plugin": {"key": 1}},
}


def test_every_field_of_the_engine_can_be_given():
    elsewhere = {"max_tokens", "logprobs", "logit_bias", "structured_outputs"}
    assert set(GIVEN) == set(PASSED)
    assert {*PASSED, *elsewhere, "detokenize"} == set(SamplingParams.__struct_fields__)


def test_values_come_through():
    params = SamplingFields(**GIVEN, logit_bias={"7": -1.5}).sampling_params(max_tokens=9, logprobs=3)
    assert params == SamplingParams(**GIVEN, logit_bias={7: -1.5}, max_tokens=9, logprobs=3)


def test_null_is_the_default():
    nothing = SamplingFields(**dict.fromkeys(GIVEN)).sampling_params(max_tokens=None, logprobs=None)
    assert nothing == SamplingParams(max_tokens=None)
    assert msgspec.structs.asdict(nothing)["temperature"] == 1.0


@pytest.mark.parametrize("key", ["AI", "-1", "1.5", "", "٣", "9" * 21])
def test_a_key_of_logit_bias_must_be_a_token_id(key):
    with pytest.raises(ApiError, match="logit_bias"):
        SamplingFields(logit_bias={key: 1.0}).sampling_params(max_tokens=1, logprobs=None)


@pytest.mark.parametrize(
    "value, limit, fits", [(None, 0, True), (5, 5, True), (6, 5, False), (-1, 5, False), (-1, -1, True), (99, -1, True)]
)
def test_the_limit_of_logprobs(value, limit, fits):
    if fits:
        check_logprobs("logprobs", value, limit)
    else:
        with pytest.raises(ApiError, match="--max-logprobs") as caught:
            check_logprobs("logprobs", value, limit)
        assert caught.value.param == "logprobs"


def test_stream_options_need_a_stream():
    options = StreamOptions(include_usage=True)
    with pytest.raises(ApiError, match="stream"):
        SamplingFields(stream_options=options).check_stream_options()
    SamplingFields(stream_options=options, stream=True).check_stream_options()


@pytest.mark.parametrize("usage, continuous", [(True, True), (True, False), (False, True), (None, None)])
def test_usage_in_streams(usage, continuous):
    fields = ChatCompletionRequest(
        messages=[{}], stream_options=StreamOptions(include_usage=usage, continuous_usage_stats=continuous)
    )
    assert fields.includes_usage is bool(usage)
    assert fields.continuous_usage is bool(usage and continuous)
