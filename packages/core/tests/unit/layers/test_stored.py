from __future__ import annotations

import pytest
import torch

from kernelet.contracts.offer import Settings
from kernelet.contracts.op import DENSE, ScaleLevel, WeightScheme
from kernelet.contracts.quant import QuantizationMethod, QuantLayer
from kernelet.errors import PluginError, WeightsError
from kernelet.layers.canonical import a_row
from kernelet.layers.stored import Module, ask, make_canonical, quantize, stored_bytes
from kernelet.testing.weight_kernel import dequantize, make_weights

ROWS = WeightScheme(element="int8", scales=(ScaleLevel("float32", (1, 0)),))
WHOLE = WeightScheme(element="int8", scales=(ScaleLevel("float32", (0, 0)),))


class Method(QuantizationMethod):
    """Whole numbers in scales of 1/8 a module ``x``; ``schemes`` by module."""

    def __init__(self, schemes):
        super().__init__(Settings(plugin="p"), None, None)
        self.schemes = schemes

    def scheme(self, layer):
        return self.schemes[layer.name]

    def canonical(self, layer, stored):
        weight, scheme = stored["weight"], self.schemes[layer.name]
        largest = weight.abs().amax(1, keepdim=True) if scheme.scales[0].block[0] else weight.abs().max().view(1, 1)
        scales = (largest / 127).float()
        return {"weight": (weight / scales).round().to(torch.int8), "scales": scales}


def modules(*rows):
    return [
        Module(layer=QuantLayer(name=f"m{index}", role="linear", shape=(count, 5), dtype="float32"), rows=count)
        for index, count in enumerate(rows)
    ]


def test_a_method_that_answers_something_else():
    with pytest.raises(PluginError, match=r"test_stored:Method\.scheme.*returned str"):
        ask(Method({"m0": "int8"}), modules(2)[0].layer)


@pytest.mark.parametrize("own", [ROWS, WHOLE], ids=["a scale a row", "a scale a weight"])
def test_rows_of_several_modules_are_put_below_each_other(own):
    method, parts = Method({f"m{i}": own for i in range(3)}), modules(2, 4, 1)
    weight = torch.randn(7, 5, dtype=torch.float64)
    found = quantize(method, own, parts, weight)
    assert found["scales"].shape == (7, 1)
    pieces = [
        dequantize(method.canonical(parts[i].layer, {"weight": w}), own) for i, w in enumerate(weight.split([2, 4, 1]))
    ]
    assert torch.equal(dequantize(found, ROWS), torch.cat(pieces))
    alone = quantize(method, own, parts[:1], weight[:2])
    assert ask(method, parts[0].layer) == own
    assert torch.equal(dequantize(alone, own), pieces[0])


def test_offsets_of_several_modules_are_put_below_each_other():
    levels = (ScaleLevel("uint8", (1, 2)), ScaleLevel("float32", (0, 0)))
    own = WeightScheme(element="uint4", scales=levels, zero_point="offset")

    class Offset(Method):
        def canonical(self, layer, stored):
            seed, shape = int(stored["weight"][0, 0]), tuple(stored["weight"].shape)
            return make_weights(own, shape, torch.float32, seed)

    method, parts = Offset({"m0": own, "m1": own}), modules(2, 4)
    given = [torch.full((2, 5), 7), torch.full((4, 5), 8)]
    found = quantize(method, own, parts, torch.cat(given))
    pieces = [dequantize(method.canonical(None, {"weight": weight}), own) for weight in given]
    assert torch.equal(dequantize(found, a_row(own)), torch.cat(pieces))


def test_experts_are_stacked():
    method = Method({"m0": ROWS, "m1": ROWS})
    weight = torch.randn(3, 6, 5)
    found = quantize(method, ROWS, modules(2, 4) * 3, weight)
    assert found["weight"].shape == (3, 6, 5)
    assert found["scales"].shape == (3, 6, 1)
    for index, expert in enumerate(weight):
        one = quantize(method, ROWS, modules(2, 4), expert)
        assert torch.equal(
            dequantize({name: tensor[index] for name, tensor in found.items()}, ROWS), dequantize(one, ROWS)
        )


def test_a_scale_of_a_whole_expert_stays_one():
    found = quantize(Method({"m0": WHOLE}), WHOLE, modules(4) * 3, torch.randn(3, 4, 5))
    assert found["scales"].shape == (3, 1, 1)


def test_a_damaged_tensor_is_told_as_the_method_tells_it():
    class Fails(Method):
        def canonical(self, layer, stored):
            raise self.error

    method, layer = Fails({"m0": ROWS}), modules(2)[0].layer
    method.error = WeightsError("m0.scales is short")
    with pytest.raises(WeightsError, match=r"^m0\.scales is short$"):
        make_canonical(method, layer, {"weight": torch.zeros(2, 5)}, (2, 5))
    method.error = ValueError("odd")
    with pytest.raises(PluginError, match=r"canonical\(m0\) failed for q torch\.int32 \[2, 4\]: ValueError: odd"):
        make_canonical(method, layer, {"q": torch.zeros(2, 4, dtype=torch.int32)}, (2, 5))


@pytest.mark.parametrize(
    "made, match",
    [
        ({"weight": torch.zeros(2, 5)}, r"'scales': \(2, 1\)"),
        ({"weight": torch.zeros(2, 4), "scales": torch.ones(2, 1)}, r"'weight': \(2, 4\)"),
        ({"weight": torch.zeros(2, 5), "scales": torch.ones(2)}, r"'scales': \(2,\)"),
        ({"weight": torch.zeros(2, 5), "scales": torch.ones(2, 1), "zero_points": torch.ones(2, 1)}, "zero_points"),
    ],
)
def test_tensors_of_another_form_are_refused(made, match):
    class Wrong(Method):
        def canonical(self, layer, stored):
            return made

    with pytest.raises(PluginError, match=rf"Wrong\.canonical\(m0\) made .*{match}"):
        quantize(Wrong({"m0": ROWS}), ROWS, modules(2), torch.zeros(2, 5))


@pytest.mark.parametrize(
    "scheme, expected",
    [
        (DENSE, 2 * 3 * 40 * 2),
        (ROWS, 2 * (3 * 40 + 3 * 4)),
        (WHOLE, 2 * (3 * 40 + 4)),
        (WeightScheme(element="uint4", scales=(ScaleLevel("float16", (1, 32)),)), 2 * (3 * 20 + 6 * 2)),
        (WeightScheme(element="int4", scales=(ScaleLevel("float32", (1, 32)),), zero_point="float"), 2 * (60 + 48)),
        (WeightScheme(element="int4", scales=(ScaleLevel("float32", (1, 32)),), zero_point="int"), 2 * (60 + 24 + 3)),
        (WeightScheme(element="e4m3fn", scales=(ScaleLevel("float32", (128, 128)),)), 2 * (120 + 4)),
        (
            WeightScheme(element="e2m1", scales=(ScaleLevel("e4m3fn", (1, 16)), ScaleLevel("float32", (0, 0)))),
            2 * (60 + 9 + 4),
        ),
        (
            WeightScheme(
                element="uint4",
                scales=(ScaleLevel("uint8", (1, 32)), ScaleLevel("float16", (1, 256))),
                zero_point="offset",
            ),
            2 * (60 + 2 * 3 * (2 + 2)),
        ),
        (WeightScheme(element="nf4", scales=(ScaleLevel("float32", (1, 0)),)), 2 * (60 + 12)),
    ],
)
def test_bytes_as_stored(scheme, expected):
    assert stored_bytes(scheme, (2, 3, 40), 2) == expected
    assert stored_bytes(scheme, (3, 40), 2) == expected // 2
