from __future__ import annotations

import pytest

from kernelet.errors import UnsupportedModelError
from kernelet_quant_compressed_tensors.configuration import form_of, read
from kernelet_quant_compressed_tensors.conformance import configured

INT4 = {"num_bits": 4, "type": "int", "symmetric": True, "strategy": "group", "group_size": 128}
INT8 = {"num_bits": 8, "type": "int", "strategy": "channel"}
FLOAT8 = {"num_bits": 8, "type": "float", "strategy": "tensor"}
TOKEN8 = {"num_bits": 8, "type": "int", "strategy": "token", "dynamic": True}
TOKEN_FLOAT8 = {"num_bits": 8, "type": "float", "strategy": "token", "dynamic": True}
STATIC_FLOAT8 = {"num_bits": 8, "type": "float", "strategy": "tensor", "dynamic": False}
BLOCKS = {"num_bits": 8, "type": "float", "strategy": "block", "block_structure": [128, 128]}
PARTS = {"num_bits": 8, "type": "float", "strategy": "group", "group_size": 128, "dynamic": True}


def form(config, *, round_inputs=True):
    said = read(config)
    return form_of("group_0", said.config_groups["group_0"], said.format, round_inputs=round_inputs)


@pytest.mark.parametrize(
    "config, packed, element, block, inputs",
    [
        (configured("pack-quantized", INT4), True, "int4", (1, 128), (None, None)),
        (configured("mixed-precision", INT4), True, "int4", (1, 128), (None, None)),
        (configured("mixed-precision", INT8, TOKEN8), False, "int8", (1, 0), ("dynamic", "int8")),
        (configured("pack-quantized", INT4, TOKEN_FLOAT8), True, "int4", (1, 128), ("dynamic", "e4m3fn")),
        (configured("int-quantized", INT8, TOKEN8), False, "int8", (1, 0), ("dynamic", "int8")),
        (configured("int-quantized", INT8, {"strategy": "tensor"}), False, "int8", (1, 0), ("static", "int8")),
        (configured("naive-quantized", FLOAT8), False, "e4m3fn", (0, 0), (None, None)),
        (configured("float-quantized", FLOAT8, STATIC_FLOAT8), False, "e4m3fn", (0, 0), ("static", "e4m3fn")),
        (configured("float-quantized", BLOCKS, PARTS), False, "e4m3fn", (128, 128), (None, None)),
        (configured("int-quantized", {"num_bits": 8}), False, "int8", (0, 0), (None, None)),
        (configured("pack-quantized", {"num_bits": 4, "group_size": 64}), True, "int4", (1, 64), (None, None)),
        (configured("pack-quantized", {"num_bits": 4, "group_size": -1}), True, "int4", (1, 0), (None, None)),
        (
            configured("naive-quantized", BLOCKS | {"block_structure": "64x32"}),
            False,
            "e4m3fn",
            (64, 32),
            (None, None),
        ),
    ],
)
def test_what_a_group_says(config, packed, element, block, inputs):
    found = form(config)
    assert (found.packed, found.element, found.block) == (packed, element, block)
    assert (found.activation, found.activation_element) == inputs
    assert form(config, round_inputs=False).activation is None


def test_a_group_may_have_a_format_of_its_own():
    config = configured("mixed-precision", INT4, TOKEN8)
    assert not form(config).packed
    config["config_groups"]["group_0"]["format"] = "pack-quantized"
    assert form(config).packed


def test_what_writers_say_besides_is_known():
    config = configured(
        "int-quantized",
        INT8 | {"observer": "minmax", "observer_kwargs": {}, "actorder": None, "block_structure": None},
        TOKEN8 | {"observer": None, "zp_dtype": "torch.int8", "scale_dtype": None},
        global_compression_ratio=1.4,
        ignore=["lm_head"],
        kv_cache_scheme={"num_bits": 8, "type": "float", "strategy": "tensor"},
        quantization_status="frozen",
        sparsity_config={"format": "dense", "global_sparsity": 0.1},
        transform_config={},
        version="0.20.1",
    )
    assert form(config).element == "int8"
    assert not form(config).act_order
    for name, reorders in (("group", True), ("dynamic", True), ("weight", False), ("static", False)):
        assert form(configured("pack-quantized", INT4 | {"actorder": name})).act_order is reorders


@pytest.mark.parametrize(
    "config, message",
    [
        (configured("nvfp4-pack-quantized", INT4), "quantization_config.format is 'nvfp4-pack-quantized'"),
        (configured("mxfp4-pack-quantized", INT4), "format is 'mxfp4-pack-quantized'"),
        (configured("mxfp8-quantized", FLOAT8), "format is 'mxfp8-quantized'"),
        (configured("marlin-24", INT4), "format is 'marlin-24'"),
        (configured("dense", INT4), "format is 'dense'"),
        (configured("pack-quantized", FLOAT8), "config_groups.group_0.format is 'pack-quantized'"),
        (configured("pack-quantized", None), r"config_groups.group_0.weights is None"),
        (configured("pack-quantized", INT4 | {"num_bits": 1}), r"group_0.weights.num_bits is 1"),
        (configured("pack-quantized", INT4 | {"type": "posit"}), r"group_0.weights.type is 'posit'"),
        (configured("naive-quantized", FLOAT8 | {"num_bits": 4}), r"group_0.weights.num_bits is 4"),
        (configured("naive-quantized", FLOAT8 | {"symmetric": False}), r"group_0.weights.symmetric is False"),
        (configured("pack-quantized", INT4 | {"strategy": "tensor_group"}), r"weights.strategy is 'tensor_group'"),
        (configured("pack-quantized", INT4 | {"group_size": None}), r"weights.group_size is None"),
        (configured("naive-quantized", BLOCKS | {"block_structure": None}), r"weights.block_structure is None"),
        (configured("pack-quantized", INT4 | {"dynamic": True}), r"weights.dynamic is True"),
        (configured("int-quantized", INT8, TOKEN8 | {"symmetric": False}), r"input_activations.symmetric is False"),
        (configured("int-quantized", INT8, TOKEN8 | {"num_bits": 4}), r"input_activations.num_bits is 4.*=none"),
        (configured("int-quantized", INT8, TOKEN8 | {"dynamic": "local"}), r"input_activations.dynamic is 'local'"),
        (configured("int-quantized", INT8, TOKEN8 | {"dynamic": False}), r"input_activations.strategy is 'token'"),
        (configured("int-quantized", INT8, status=1), "unknown field `status`"),
        (configured("int-quantized", INT8 | {"bits": 8}), "unknown field `bits`"),
        (configured("int-quantized", INT8, quantization_status="initialized"), "quantization_status is 'initialized'"),
        (
            configured("int-quantized", INT8, sparsity_config={"format": "sparse-24-bitmask"}),
            "sparsity_config.format is 'sparse-24-bitmask'",
        ),
        (configured("int-quantized", INT8, transform_config={"config_groups": {}}), "transform_config is"),
        (configured("int-quantized", INT8, moe_sparsity_config={"method": "prune"}), "moe_sparsity_config is"),
        (configured("int-quantized", INT8) | {"quant_method": "other"}, "quant_method"),
        ({"quant_method": "compressed-tensors"}, "config_groups"),
        ({"quant_method": "compressed-tensors", "config_groups": {"W4A16": ["Linear"]}}, "W4A16|config_groups"),
        (None, "quant_method|config_groups"),
    ],
)
def test_what_is_not_served_is_named(config, message):
    with pytest.raises(UnsupportedModelError, match=message):
        form(config)


def test_outputs_are_not_rounded():
    config = configured("int-quantized", INT8)
    config["config_groups"]["group_0"]["output_activations"] = TOKEN8
    with pytest.raises(UnsupportedModelError, match="output_activations is 'set'"):
        form(config)
