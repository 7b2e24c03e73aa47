from __future__ import annotations

import pytest

from kernelet.errors import UnsupportedModelError
from kernelet_models_decoder.fields import Config
from kernelet_models_decoder.windows import WINDOWS, has_experts, never, rotates


def layers(rule, **values):
    config = Config(values)
    return "".join("s" if rule(config, index) else "." for index in range(8))


def test_rules():
    assert layers(WINDOWS["all"]) == "ssssssss"
    assert layers(never) == "........"
    assert layers(WINDOWS["even"]) == "s.s.s.s."
    assert layers(WINDOWS["pattern_6"]) == "sssss.ss"
    assert layers(WINDOWS["pattern_4"]) == "sss.sss."
    assert layers(WINDOWS["pattern_6"], sliding_window_pattern=3) == "ss.ss.ss"
    assert layers(WINDOWS["tail"]) == "........"
    assert layers(WINDOWS["tail"], max_window_layers=5) == ".....sss"
    assert layers(WINDOWS["no_rope"], no_rope_layers=[1, 0, 1, 1, 0, 1, 1, 1]) == ".s..s..."


@pytest.mark.parametrize("name", ["even", "pattern_4", "pattern_6", "tail", "no_rope"])
def test_layer_types_win(name):
    kinds = ["full_attention", "sliding_attention"] * 4
    assert layers(WINDOWS[name], layer_types=kinds) == ".s.s.s.s"


def test_layer_types_that_are_not_served_are_named():
    with pytest.raises(UnsupportedModelError, match="chunked_attention"):
        layers(WINDOWS["even"], layer_types=["chunked_attention"] * 8)
    with pytest.raises(UnsupportedModelError, match="layer 1"):
        layers(WINDOWS["even"], layer_types=["full_attention"])


def test_rotation():
    assert layers(rotates) == "sss.sss."
    assert layers(rotates, no_rope_layer_interval=2) == "s.s.s.s."
    assert layers(rotates, no_rope_layers=[0, 1] * 4, no_rope_layer_interval=2) == ".s.s.s.s"


def test_experts():
    assert layers(has_experts, decoder_sparse_step=1) == "ssssssss"
    assert layers(has_experts, decoder_sparse_step=2, mlp_only_layers=[3]) == ".s...s.s"
    with pytest.raises(UnsupportedModelError, match="decoder_sparse_step"):
        layers(has_experts)
