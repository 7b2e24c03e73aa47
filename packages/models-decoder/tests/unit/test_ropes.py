from __future__ import annotations

import pytest

from kernelet.errors import UnsupportedModelError
from kernelet.layers.rope_scaling import SCALINGS as LAYER_SCALINGS
from kernelet_models_decoder.fields import Config
from kernelet_models_decoder.ropes import FULL, MODEL, SCALINGS, SLIDING, read_ropes, served_len
from kernelet_models_decoder.rows import GEMMA3, GPT_NEOX, LLAMA, PHI3

BANDED = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 32}


def read(row, **values):
    return read_ropes(row, Config({"max_position_embeddings": 128} | values), 16)


def test_scalings_are_known_to_the_layers():
    assert {ours for _, ours in SCALINGS} == set(LAYER_SCALINGS)


def test_both_forms_of_config_mean_the_same():
    new = read(LLAMA, rope_parameters={"rope_type": "llama3", "rope_theta": 700.0, **BANDED})
    old = read(LLAMA, rope_theta=700.0, rope_scaling={"type": "llama3", **BANDED})
    assert new == old
    assert (new[MODEL].scaling, new[MODEL].theta, new[MODEL].size) == ("banded", 700.0, 16)


def test_defaults_of_the_row_and_original_length():
    rope = read(LLAMA)[MODEL]
    assert (rope.scaling, rope.theta, rope.trained_len) == ("default", 10_000.0, 128)
    assert rope.options == {"original_max_position_embeddings": 128}
    assert read(LLAMA, original_max_position_embeddings=64)[MODEL].options["original_max_position_embeddings"] == 64


@pytest.mark.parametrize("name", ["su", "yarn", "longrope"])
def test_other_names_of_a_family(name):
    factors = {"short_factor": [1.0] * 8, "long_factor": [2.0] * 8}
    assert read(PHI3, rope_scaling={"type": name, **factors})[MODEL].scaling == "longrope"


def test_partial_rotation_from_each_place():
    assert read(GPT_NEOX)[MODEL].size == 4
    assert read(GPT_NEOX, rotary_pct=0.5)[MODEL].size == 8
    assert read(GPT_NEOX, rope_parameters={"partial_rotary_factor": 1.0})[MODEL].size == 16
    assert read(PHI3, partial_rotary_factor=0.75)[MODEL].size == 12


def test_partial_rotation_is_refused_where_the_family_has_none():
    assert read(LLAMA, partial_rotary_factor=1.0)[MODEL].size == 16
    with pytest.raises(UnsupportedModelError, match=r"partial_rotary_factor = 0\.5"):
        read(LLAMA, partial_rotary_factor=0.5)


def test_one_embedding_a_layer_type_in_both_forms():
    nested = {FULL: {"rope_type": "linear", "factor": 8.0, "rope_theta": 5.0}, SLIDING: {"rope_theta": 3.0}}
    new = read(GEMMA3, rope_parameters=nested)
    old = read(GEMMA3, rope_theta=5.0, rope_local_base_freq=3.0, rope_scaling={"rope_type": "linear", "factor": 8.0})
    assert new == old
    assert [(rope.scaling, rope.theta) for rope in new.values()] == [("linear", 5.0), ("default", 3.0)]
    assert [rope.theta for rope in read(GEMMA3).values()] == [1e6, 1e4]
    assert [rope.theta for rope in read(GEMMA3, rope_parameters={"rope_theta": 9.0}).values()] == [9.0, 1e4]


def test_layer_types_that_differ_are_refused_where_the_family_has_one_embedding():
    same = {"rope_theta": 7.0, "rope_type": "default"}
    assert read(LLAMA, rope_parameters={FULL: same, SLIDING: same})[MODEL].theta == 7.0
    with pytest.raises(UnsupportedModelError, match="rope_parameters"):
        read(LLAMA, rope_parameters={FULL: same, SLIDING: {"rope_theta": 8.0}})


def test_unknown_scaling_and_missing_length_are_named():
    with pytest.raises(UnsupportedModelError, match=r"'spiral'.*default, linear"):
        read(LLAMA, rope_scaling={"type": "spiral"})
    with pytest.raises(UnsupportedModelError, match="max_position_embeddings"):
        read_ropes(LLAMA, Config({}), 16)


@pytest.mark.parametrize(
    "scaling, expected",
    [
        ({"rope_type": "default"}, 128),
        ({"rope_type": "linear", "factor": 4.0}, 128),
        ({"rope_type": "dynamic", "factor": 4.0}, 512),
        ({"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}, 256),
        ({"rope_type": "yarn", "factor": 4.0}, 512),
        ({"rope_type": "yarn", "factor": 2.0, "original_max_position_embeddings": 32}, 128),
        ({"rope_type": "llama3", **BANDED}, 128),
    ],
)
def test_context_that_is_served(scaling, expected):
    assert served_len(read(LLAMA, rope_parameters=scaling)) == expected


def test_context_of_two_embeddings_is_what_config_says():
    assert served_len(read(GEMMA3, rope_scaling={"rope_type": "linear", "factor": 8.0})) == 128
