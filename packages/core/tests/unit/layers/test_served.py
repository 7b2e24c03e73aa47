from __future__ import annotations

import torch
from as_is import quantized_context

from kernelet.contracts.op import DENSE, ScaleLevel, WeightScheme
from kernelet.layers.kernels import Use
from kernelet.layers.quantized import MixedWeight, StoredWeight
from kernelet.layers.served import ServedWeight
from kernelet.layers.weights import Shard, Weight
from kernelet.testing.tensors import make_context

ROWS = WeightScheme(element="int8", scales=(ScaleLevel("float32", (1, 0)),))
USE = Use(
    name="m",
    role="linear",
    outputs={"a": Shard.whole(3), "b": Shard.whole(2)},
    inputs=Shard.whole(4),
    sources=["m.a", "m.b"],
)


def test_an_unquantized_weight():
    served = ServedWeight(make_context(), USE)
    assert (type(served.weight), served.weight.name, served.weight.shape) == (Weight, "m.weight", (5, 4))
    assert (served.scheme, len(served.groups), served.weight.pieces) == (DENSE, 1, (served.weight,))
    assert served.kernel is served.groups[0].kernel
    served.weight.write("x", torch.ones(5, 4))
    assert torch.equal(served.prepare(), torch.ones(5, 4))


def test_a_weight_that_is_stored_quantized():
    served = ServedWeight(quantized_context({"m.a": ROWS, "m.b": ROWS}), USE)
    assert (type(served.weight), served.scheme, served.weight.scheme) == (StoredWeight, ROWS, ROWS)
    assert served.weight.kept is not None


def test_a_weight_in_pieces():
    served = ServedWeight(quantized_context({"m.b": ROWS}), USE)
    assert isinstance(served.weight, MixedWeight)
    first, second = served.weight.pieces
    assert (type(first), list(first.parts), first.shape) == (Weight, ["a"], (3, 4))
    assert (type(second), list(second.parts), second.shape) == (StoredWeight, ["b"], (2, 4))
    assert [served.weight.piece(part) for part in ("a", "b", None)] == [first, second, served.weight]
    assert (served.weight.shape, served.kernel.rows_of_each) == ((5, 4), (3, 2))


def test_an_online_method_fills_an_unquantized_weight():
    context = quantized_context({"m.a": ROWS, "m.b": ROWS})
    context.quantization.config = None
    served = ServedWeight(context, USE)
    assert (type(served.weight), served.scheme) == (Weight, ROWS)
