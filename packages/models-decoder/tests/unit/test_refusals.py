from __future__ import annotations

import pytest

from kernelet.errors import UnsupportedModelError
from kernelet_models_decoder.fields import Config
from kernelet_models_decoder.refusals import NEUTRAL, refuse_unread


@pytest.mark.parametrize("key", NEUTRAL)
def test_a_key_that_matters_is_refused_when_nobody_read_it(key):
    value = ["sliding_attention"] if key == "layer_types" else 12345
    with pytest.raises(UnsupportedModelError, match=f"{key} = .* is not served for X"):
        refuse_unread("X", Config({key: value}))
    config = Config({key: value})
    config.get(key)
    refuse_unread("X", config)


@pytest.mark.parametrize("key", NEUTRAL)
def test_neutral_values_are_fine(key):
    for value in NEUTRAL[key]:
        refuse_unread("X", Config({key: value}))


def test_layers_that_are_all_full_and_windows_that_are_off_are_neutral():
    refuse_unread("X", Config({"layer_types": ["full_attention"] * 3}))
    refuse_unread("X", Config({"sliding_window": 4096, "use_sliding_window": False}))


def test_keys_that_compute_nothing_are_fine():
    refuse_unread("X", Config({"transformers_version": "5", "my_note": 3, "use_cache": True}))
