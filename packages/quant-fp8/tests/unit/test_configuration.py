from __future__ import annotations

import pytest

from kernelet.errors import UnsupportedModelError
from kernelet_quant_fp8.configuration import read

PLAIN = {"quant_method": "fp8"}


def test_what_writers_say_is_known():
    said = read(
        PLAIN
        | {
            "activation_scheme": "static",
            "ignored_layers": ["lm_head"],
            "kv_cache_scheme": "static",
        }
    )
    assert (said.activation_scheme, said.weight_block_size, said.skipped) == ("static", None, ["lm_head"])
    said = read(
        PLAIN
        | {
            "fmt": "e4m3",
            "scale_fmt": "ue8m0",
            "weight_block_size": [128, 64],
            "modules_to_not_convert": None,
            "modules_to_convert": None,
            "dequantize": False,
            "expert_dtype": "fp8",
        }
    )
    assert (said.activation_scheme, said.weight_block_size, said.skipped) == ("dynamic", (128, 64), [])


@pytest.mark.parametrize(
    "more, message",
    [
        ({"quant_method": "fbgemm_fp8"}, "quant_method"),
        ({"activation_scheme": "none"}, "activation_scheme"),
        ({"fmt": "e5m2"}, "fmt"),
        ({"scale_fmt": "e3m0"}, "scale_fmt"),
        ({"expert_dtype": "fp4"}, "expert_dtype"),
        ({"weight_block_size": [128]}, "weight_block_size"),
        ({"weight_block_size": [128, 0]}, r"weight_block_size is \[128, 0\]; it must be positive"),
        ({"modules_to_convert": ["embed"]}, r"modules_to_convert is \['embed'\]: embeddings in fp8"),
        ({"ignored_layers": "lm_head"}, "ignored_layers"),
        ({"strange": 1}, "unknown field `strange`"),
    ],
)
def test_what_is_not_served_is_named(more, message):
    with pytest.raises(UnsupportedModelError, match=message):
        read(PLAIN | more)


def test_there_must_be_a_configuration():
    with pytest.raises(UnsupportedModelError, match="quant_method"):
        read(None)
