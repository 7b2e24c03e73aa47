from __future__ import annotations

import dataclasses

import pytest

from kernelet_models_decoder.fields import Field
from kernelet_models_decoder.row import ACTIVATION_NAMES, Mlp, Moe, Names, Rounded, Row, Window


def test_a_row_is_frozen_data():
    row = Row(architecture="X")
    with pytest.raises(dataclasses.FrozenInstanceError):
        row.norm = "layer"
    assert row == Row(architecture="X")
    hash(row)


def plain(value):
    if dataclasses.is_dataclass(value):
        return all(plain(getattr(value, field.name)) for field in dataclasses.fields(value))
    if isinstance(value, tuple):
        return all(plain(item) for item in value)
    return value is None or isinstance(value, (str, int, float, bool))


def test_columns_hold_names_and_numbers_only():
    assert plain(Row(architecture="X", window=Window(layers="all"), embedding_scale=Rounded(Field("x", 1))))
    assert plain(Moe(count=1, top_k=1, size=1, router="softmax_top_k", other=Mlp()))
    assert plain(Names())


def test_activations_are_known_to_the_layers():
    from kernelet.layers.activation import ACTIVATIONS

    assert {ours for _, ours in ACTIVATION_NAMES} == set(ACTIVATIONS)
