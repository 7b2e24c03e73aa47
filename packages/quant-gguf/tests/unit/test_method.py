from __future__ import annotations

import pytest
import torch
from gguf_blocks import any_bytes, dequantized, usual_bytes

from kernelet.contracts.offer import Settings
from kernelet.errors import UnsupportedModelError, WeightsError
from kernelet.testing.quantization.layers import layer_of, model_config
from kernelet.testing.weight_kernel.reference import dequantize
from kernelet_quant_gguf.method import GGUF
from kernelet_quant_gguf.types import BY_NAME

QUANTIZED = [name for name, kind in BY_NAME.items() if kind.scheme is not None]


def method(types, activations="none", **more):
    config = {"quant_method": "gguf", "types": types, **more}
    return GGUF(
        Settings(plugin="quant-gguf", values={"activations": activations}), config, model_config("gguf", config)
    )


@pytest.mark.parametrize("name", QUANTIZED)
@pytest.mark.parametrize("rows, blocks", [(1, 1), (7, 3)])
def test_canonical_tensors_stand_for_what_the_formats_package_reads(name, rows, blocks):
    kind = BY_NAME[name]
    layer = layer_of("layers.0.proj", (rows, blocks * kind.block))
    stored = usual_bytes(name, *layer.shape, seed=rows)
    made = method({"layers.0.proj": name})
    scheme = made.scheme(layer)
    found = dequantize(made.canonical(layer, {"weight": torch.from_numpy(stored)}), scheme)
    expected = torch.from_numpy(dequantized(name, stored)).double()
    assert scheme is kind.scheme
    assert (found - expected).abs().max() <= 3e-7 * expected.abs().max()


def test_inputs_are_quantized_if_that_is_asked_for():
    layer = layer_of("a", (2, 32))
    found = method({"a": "Q4_0"}, "int8").scheme(layer)
    assert (found.activation, found.activation_element) == ("dynamic", "int8")
    assert found.scales == BY_NAME["Q4_0"].scheme.scales


def test_modules_that_are_not_listed_are_unquantized():
    made = method({"model.layers.0.mlp.experts.*.up_proj": "Q8_0", "gone": "Q8_0"})
    assert made.scheme(layer_of("lm_head", (2, 32))) is None
    assert made.scheme(layer_of("model.layers.0.mlp.experts.31.up_proj", (2, 32), "grouped_linear")) is not None
    assert made.scheme(layer_of("model.layers.0.mlp.experts.31.down_proj", (2, 32), "grouped_linear")) is None
    assert made.unused() == ("gone of the file",)


def test_sizes_and_tensors_that_do_not_fit_are_named():
    made = method({"a.b": "Q4_1"})
    with pytest.raises(UnsupportedModelError, match=r"a\.b has 33 inputs, which are no blocks of 32 \(Q4_1\)"):
        made.scheme(layer_of("a.b", (2, 33)))
    layer = layer_of("a.b", (2, 32))
    for wrong in (torch.zeros(2, 19, dtype=torch.uint8), torch.zeros(2, 20)):
        with pytest.raises(WeightsError, match=r"a\.b: a weight \[2, 32\] of Q4_1 is uint8 \[2, 20\]"):
            made.canonical(layer, {"weight": wrong})
    with pytest.raises(WeightsError, match=r"a\.b.*the file has nothing"):
        made.canonical(layer, {})


def test_scales_that_are_no_numbers_are_refused():
    stored = any_bytes("Q4_1", 1, 32, 1)
    stored[0, :2] = (0x00, 0x7E)
    with pytest.raises(WeightsError, match=r"a\.b has scales that are infinite or no numbers"):
        method({"a.b": "Q4_1"}).canonical(layer_of("a.b", (1, 32)), {"weight": torch.from_numpy(stored)})


@pytest.mark.parametrize("types, more", [({"a": "F16"}, {}), ({"a": "IQ1_S"}, {}), ({}, {"bits": 4}), ([], {})])
def test_configurations_of_others_are_refused(types, more):
    with pytest.raises(UnsupportedModelError, match="quantization_config"):
        method(types, **more)
