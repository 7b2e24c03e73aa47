from __future__ import annotations

import msgspec
import pytest

from kernelet.contracts.offer import Settings
from kernelet.contracts.sampling import (
    LogitsProcessor,
    LogitsProcessorOffer,
    SamplerParams,
    SamplingParams,
    TokenLogprobs,
)


def test_parameters_travel_and_leave_defaults_out():
    params = SamplingParams(temperature=0.5, stop=["a", "b"], logit_bias={7: -1.5}, seed=3)
    data = msgspec.msgpack.encode(params)
    assert msgspec.msgpack.decode(data, type=SamplingParams) == params
    assert set(msgspec.msgpack.decode(data)) == {"temperature", "stop", "logit_bias", "seed"}


def test_defaults_sample_from_the_model_as_it_is():
    params = SamplingParams()
    assert (params.temperature, params.top_p, params.top_k, params.min_p) == (1.0, 1.0, 0, 0.0)
    assert (params.presence_penalty, params.frequency_penalty, params.repetition_penalty) == (0.0, 0.0, 1.0)
    assert (params.n, params.max_tokens, params.seed, params.stop) == (1, 16, None, ())


def test_every_field_is_described():
    for name in SamplingParams.__struct_fields__:
        assert f"{name}: " in SamplingParams.__doc__, f"{name} is not described"


def test_the_workers_parameters_always_have_a_seed():
    with pytest.raises(TypeError, match="seed"):
        SamplerParams()
    params = SamplerParams(seed=2**63 - 1)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(params), type=SamplerParams) == params


def test_parameters_are_frozen():
    with pytest.raises(AttributeError):
        SamplingParams().temperature = 2


def test_logprobs_travel():
    one = TokenLogprobs([5, 1], [-0.25, -2.0], [1, 4])
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(one), type=TokenLogprobs) == one


class Processor(LogitsProcessor):
    def add_request(self, request_id, arguments, prompt_token_ids):
        return True

    def apply(self, logits, rows):
        return logits


def test_a_processor_validates_nothing_and_forgets_nothing_by_default():
    processor = Processor(Settings(plugin="p"), 100)
    assert (processor.settings.plugin, processor.vocab_size) == ("p", 100)
    assert Processor.validate_params({"anything": 1}) is None
    assert processor.remove_request("r") is None
    assert LogitsProcessor.__abstractmethods__ == {"add_request", "apply"}


def test_a_processor_does_not_claim_to_work_with_speculation():
    offer = LogitsProcessorOffer(name="a", target="m:A")
    assert not offer.supports_speculation
    assert offer.batch_independent
