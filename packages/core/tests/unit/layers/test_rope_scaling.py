from __future__ import annotations

import dataclasses

import pytest
import torch
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from kernelet.errors import UnsupportedModelError
from kernelet.layers.rope_scaling import SCALINGS, RopeParameters, inverse_frequencies

OTHER_NAME = {"banded": "llama3"}
OPTIONS = {
    "linear": [{"factor": 4.0}],
    "dynamic": [{"factor": 4.0}],
    "yarn": [
        {"factor": 4.0, "original_max_position_embeddings": 64},
        {"factor": 8.0, "original_max_position_embeddings": 64, "beta_fast": 16.0, "beta_slow": 2.0, "truncate": False},
        {"factor": 4.0, "original_max_position_embeddings": 64, "mscale": 0.7, "mscale_all_dim": 0.4},
        {"factor": 4.0, "original_max_position_embeddings": 64, "attention_factor": 1.25},
    ],
    "longrope": [
        {"short_factor": [1.0 + i / 8 for i in range(16)], "long_factor": [2.0 + i for i in range(16)]}
        | {"original_max_position_embeddings": 64}
        | extra
        for extra in ({}, {"factor": 8.0}, {"attention_factor": 1.5})
    ],
    "banded": [
        {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 64}
    ],
}
CASES = [(scaling, options) for scaling, found in OPTIONS.items() for options in found]


def parameters(scaling, options, **changes):
    rope = RopeParameters(scaling=scaling, size=32, theta=5000.0, max_model_len=300, trained_len=256, options=options)
    return dataclasses.replace(rope, **changes)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("scaling, options", CASES)
@pytest.mark.parametrize("max_model_len", [50, 300])
def test_frequencies_are_those_of_transformers_for_that_length(scaling, options, max_model_len):
    name = OTHER_NAME.get(scaling, scaling)
    config = LlamaConfig(
        hidden_size=64,
        num_attention_heads=2,
        max_position_embeddings=256,
        rope_parameters={"rope_type": name, "rope_theta": 5000.0, **options},
    )
    expected, factor = ROPE_INIT_FUNCTIONS[name](config, "cpu", seq_len=max_model_len)
    found, ours = inverse_frequencies(parameters(scaling, options, max_model_len=max_model_len))
    assert found.dtype == torch.float32
    if scaling == "banded":
        torch.testing.assert_close(found, expected, rtol=5e-7, atol=0)
    else:
        assert torch.equal(found, expected)
    assert ours == pytest.approx(factor, rel=1e-12)


def test_default_is_a_geometric_series():
    found, factor = inverse_frequencies(parameters("default", {}))
    assert found.tolist() == pytest.approx([5000.0 ** (-2 * i / 32) for i in range(16)], rel=1e-6)
    assert factor == 1.0


def test_a_scaling_by_length_looks_at_the_engines_length_only():
    longrope = OPTIONS["longrope"][0]
    short, _ = inverse_frequencies(parameters("longrope", longrope, max_model_len=64))
    long, _ = inverse_frequencies(parameters("longrope", longrope, max_model_len=65))
    assert (short / long).tolist() == pytest.approx([(2.0 + i) / (1.0 + i / 8) for i in range(16)])
    dynamic = OPTIONS["dynamic"][0]
    plain, _ = inverse_frequencies(parameters("default", {}))
    within, _ = inverse_frequencies(parameters("dynamic", dynamic, max_model_len=256))
    assert torch.equal(within, plain)


@pytest.mark.parametrize(
    "scaling, key",
    [("linear", "factor"), ("dynamic", "factor"), ("longrope", "long_factor"), ("banded", "low_freq_factor")],
)
def test_a_missing_number_is_named(scaling, key):
    fewer = {name: value for name, value in OPTIONS[scaling][0].items() if name != key}
    with pytest.raises(UnsupportedModelError, match=key):
        inverse_frequencies(parameters(scaling, fewer))


def test_yarn_takes_the_ratio_of_lengths_for_a_missing_factor():
    given, _ = inverse_frequencies(parameters("yarn", {"factor": 4.0, "original_max_position_embeddings": 64}))
    ratio, _ = inverse_frequencies(parameters("yarn", {"original_max_position_embeddings": 64}))
    assert torch.equal(given, ratio)


def test_unknown_scaling_lists_the_known():
    with pytest.raises(UnsupportedModelError, match=", ".join(SCALINGS)):
        inverse_frequencies(parameters("other", {}))
