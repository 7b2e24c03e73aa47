from __future__ import annotations

import torch

from kernelet.contracts.offer import Settings
from kernelet.testing.quantization.layers import layer_of, model_config
from kernelet.testing.quantization.reference import Plain4, ReferenceInt8, store_plain4
from kernelet.testing.weight_kernel.reference import dequantize


def test_int8_by_hand():
    layer = layer_of("x", (2, 3))
    method = ReferenceInt8(Settings(plugin="p"), None, model_config("p", None))
    found = method.canonical(layer, {"weight": torch.tensor([[1.27, -0.5, 0.004], [0.0, 0.0, 0.0]])})
    assert found["weight"].tolist() == [[127, -50, 0], [0, 0, 0]]
    assert torch.allclose(found["scales"], torch.tensor([[0.01], [1.0]]))


def test_pairs_by_hand():
    config = {"quant_method": "plain4"}
    method = Plain4(Settings(plugin="p"), config, model_config("p", config))
    layer = layer_of("x", (1, 4))
    stored = {"packed": torch.tensor([[0x0F, 0x98]], dtype=torch.uint8), "scales": torch.tensor([[0.5]]).half()}
    found = method.canonical(layer, stored)
    assert found["weight"].tolist() == [[15, 0, 8, 9]]
    assert dequantize(found, method.scheme(layer)).tolist() == [[3.5, -4.0, 0.0, 0.5]]
    packed, stands_for = store_plain4(layer, torch.tensor([[3.5, -3.0, 0.1, 0.6]]))
    assert packed["packed"].tolist() == [[0x2F, 0x98]]
    assert stands_for.tolist() == [[3.5, -3.0, 0.0, 0.5]]
