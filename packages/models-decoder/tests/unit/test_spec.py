from __future__ import annotations

import dataclasses

from kernelet_models_decoder.row import Row
from kernelet_models_decoder.spec import DecoderSpec

ELSEWHERE = {
    "architecture": "names the row",
    "rope": "interleaved",
    "rope_theta": "ropes",
    "rope_partial": "ropes",
    "rope_layers": "layers",
    "rope_names": "ropes",
    "window": "layers",
}


def test_every_column_of_a_row_reaches_the_spec():
    spec = {field.name for field in dataclasses.fields(DecoderSpec)}
    for column in dataclasses.fields(Row):
        assert column.name in spec or column.name in ELSEWHERE
    assert set(ELSEWHERE.values()) - {"names the row"} <= spec
