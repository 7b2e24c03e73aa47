from __future__ import annotations

import pytest

from kernelet.errors import UnsupportedModelError
from kernelet.testing.tiny import tiny_config
from kernelet.testing.tiny.description import describe, read_shape


def test_what_the_frontend_needs():
    info = describe(tiny_config())
    assert (info.vocab_size, info.max_model_len, info.num_layers, info.hidden_size) == (211, 512, 2, 64)
    assert (info.dtype, info.row) == ("float32", "tiny")


def test_windows_by_layer():
    shape = read_shape(tiny_config(layer_types=["sliding_attention", "full_attention"], sliding_window=9))
    assert [shape.window(index) for index in range(2)] == [9, None]
    assert read_shape(tiny_config(sliding_window=9)).window(0) is None


@pytest.mark.parametrize(
    "key, value",
    [
        ("hidden_act", "gelu"),
        ("layer_types", []),
        ("layer_types", ["linear"]),
        ("head_dim", 0),
        ("vocab_size", "211"),
        ("num_key_value_heads", True),
    ],
)
def test_what_is_not_served_is_named(key, value):
    with pytest.raises(UnsupportedModelError, match=key):
        describe(tiny_config(**{key: value}))
    with pytest.raises(UnsupportedModelError, match="sliding_window"):
        describe(tiny_config(layer_types=["sliding_attention"]))
