from __future__ import annotations

import gguf
import pytest
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType

from kernelet.testing.weight_kernel.reference import no_reference
from kernelet_quant_gguf.types import BY_NAME, TYPES, UNSERVED


@pytest.mark.parametrize("number", TYPES)
def test_blocks_are_those_of_the_format(number):
    kind = TYPES[number]
    assert GGMLQuantizationType(number).name == kind.name
    assert GGML_QUANT_SIZES[GGMLQuantizationType(number)] == (kind.block, kind.nbytes)
    assert kind.row_bytes(3 * kind.block) == 3 * kind.nbytes
    assert BY_NAME[kind.name] is kind


@pytest.mark.parametrize("number", [number for number, kind in TYPES.items() if kind.scheme is not None])
def test_schemes_have_a_canonical_form_and_cover_a_block(number):
    kind = TYPES[number]
    assert no_reference(kind.scheme) == ""
    assert kind.scheme.scales[-1].block == (1, kind.block)
    bits = int(kind.scheme.element.lstrip("uint")) * kind.block
    for level in kind.scheme.scales:
        stored = {"float16": 16, "uint8": 4 if kind.name == "Q2_K" else 6, "int8": 6 if kind.name == "Q3_K" else 8}
        bits += kind.block // level.block[1] * stored[level.dtype] * (2 if kind.scheme.zero_point else 1)
    assert bits == 8 * kind.nbytes


def test_every_type_of_the_format_has_a_name():
    known = TYPES.keys() | UNSERVED.keys()
    for kind in gguf.GGMLQuantizationType:
        assert kind.value in known
        assert UNSERVED.get(kind.value, kind.name) == kind.name
