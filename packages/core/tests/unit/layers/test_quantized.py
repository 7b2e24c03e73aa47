"""Layers of a quantized checkpoint hold what the same layers hold of the weights that it stands for, bit by bit."""

from __future__ import annotations

import logging

import msgspec
import pytest
import torch
from as_is import AsIs, InMemory, quantized_context, random_checkpoint

from kernelet.contracts.op import ScaleLevel, WeightScheme
from kernelet.errors import PluginError, UnsupportedModelError, WeightsError
from kernelet.layers.context import UnevenError
from kernelet.layers.embedding import Embedding, Head, TiedEmbedding
from kernelet.layers.linear import MergedLinear, QKVLinear, ReplicatedLinear, RowParallelLinear
from kernelet.layers.moe import Experts
from kernelet.loading.loader import fill
from kernelet.loading.mapping import Target, WeightMap, interleaved, plain, split
from kernelet.testing.tensors import make_context

ROWS = WeightScheme(element="int8", scales=(ScaleLevel("float32", (1, 0)),))
WHOLE = WeightScheme(element="e4m3fn", scales=(ScaleLevel("float32", (0, 0)),))
GROUPS = WeightScheme(element="uint4", scales=(ScaleLevel("float16", (1, 4)),), zero_point="int")
TILES = WeightScheme(element="e4m3fn", scales=(ScaleLevel("float32", (4, 4)),))
LEVELS = WeightScheme(
    element="uint4", scales=(ScaleLevel("uint8", (1, 4)), ScaleLevel("float16", (1, 8))), zero_point="offset"
)
PERMUTED = msgspec.structs.replace(GROUPS, permuted=True)
SCHEMES = {"rows": ROWS, "whole": WHOLE, "groups": GROUPS, "tiles": TILES, "levels": LEVELS}
HIDDEN, X = 16, torch.randn(3, 16, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


def qkv(context, sources=("m.q", "m.k", "m.v")):
    return QKVLinear(context, "m.qkv", HIDDEN, num_heads=4, num_kv_heads=4, head_size=4, sources=sources)


def loaded(layer, targets, tensors):
    list(fill(InMemory(tensors), WeightMap(targets=targets)))
    layer.finish()
    return layer


def both(make, targets, shapes, schemes, rank=0, size=1):
    """The layer of a quantized checkpoint, and of the weights that it stands for."""
    stored, weights = random_checkpoint(shapes, schemes)
    options = {"rank": rank, "size": size}
    found, expected = make(quantized_context(schemes, **options)), make(make_context(dtype=torch.float64, **options))
    return loaded(found, targets(found), stored), loaded(expected, targets(expected), weights)


def parts_of(layer):
    return split(layer.weight, ["m.q.weight", "m.k.weight", "m.v.weight"])


@pytest.mark.parametrize("rank, size", [(0, 1), (0, 2), (1, 2), (3, 4)])
@pytest.mark.parametrize("name", SCHEMES)
def test_split_parts(name, rank, size):
    shapes = dict.fromkeys(["m.q", "m.k", "m.v"], (16, HIDDEN))
    found, expected = both(qkv, parts_of, shapes, dict.fromkeys(shapes, SCHEMES[name]), rank, size)
    assert found.prepared.dtype == torch.float64
    assert torch.equal(found.prepared, expected.prepared)


@pytest.mark.parametrize("rank, size", [(0, 1), (1, 2)])
@pytest.mark.parametrize("by_head", [False, True])
@pytest.mark.parametrize("name", SCHEMES)
def test_a_fused_module_in_any_order(name, by_head, rank, size):
    def targets(layer):
        return interleaved(layer.weight, "m.all.weight", 4) if by_head else plain(layer.weight, "m.all.weight")

    def make(context):
        return qkv(context, ["m.all"])

    found, expected = both(make, targets, {"m.all": (48, HIDDEN)}, {"m.all": SCHEMES[name]}, rank, size)
    assert torch.equal(found.prepared, expected.prepared)


@pytest.mark.parametrize("rank, size", [(0, 1), (0, 2), (1, 2)])
@pytest.mark.parametrize("name", SCHEMES)
def test_shared_inputs(name, rank, size):
    def make(context):
        return RowParallelLinear(context, "m.down", HIDDEN, 6)

    def targets(layer):
        return plain(layer.weight, "m.down.weight")

    found, expected = both(make, targets, {"m.down": (6, HIDDEN)}, {"m.down": SCHEMES[name]}, rank, size)
    assert torch.equal(found.prepared, expected.prepared)


@pytest.mark.parametrize("rank, size", [(0, 1), (1, 2)])
@pytest.mark.parametrize(
    "stored", [("rows", "rows", None), ("rows", None, "rows"), ("groups", "rows", "tiles"), (None, "whole", "whole")]
)
def test_parts_that_are_stored_differently(stored, rank, size):
    shapes = dict.fromkeys(["m.q", "m.k", "m.v"], (16, HIDDEN))
    schemes = {name: SCHEMES[one] for name, one in zip(shapes, stored, strict=True) if one}
    found, expected = both(qkv, parts_of, shapes, schemes, rank, size)
    assert [len(group.parts) for group in found.served.groups] == (
        [2, 1] if stored[0] == stored[1] else [1, 2] if stored[1] == stored[2] else [1, 1, 1]
    )
    assert torch.equal(torch.cat(found.prepared), expected.prepared)
    assert torch.equal(found.forward(X), torch.cat([X @ one.T for one in found.prepared], -1))
    assert found.weight.missing() == []


def test_parts_whose_tiles_do_not_fill_their_rows():
    def make(context):
        return MergedLinear(context, "m", HIDDEN, {"q": 6, "k": 8, "v": 5}, sources=["m.q", "m.k", "m.v"])

    shapes = {"m.q": (6, HIDDEN), "m.k": (8, HIDDEN), "m.v": (5, HIDDEN)}
    found, expected = both(make, parts_of, shapes, dict.fromkeys(shapes, TILES))
    assert [group.parts for group in found.served.groups] == [("q",), ("k", "v")]
    assert torch.equal(torch.cat(found.prepared), expected.prepared)


def experts(context):
    sources = [f"m.{{expert}}.{part}" for part in ("gate", "up", "down")]
    return Experts(context, "m", num_experts=3, hidden=HIDDEN, middle=8, activation="silu", sources=sources)


def targets_of_experts(layer):
    targets = {}
    for expert in range(3):
        targets[f"m.{expert}.gate.weight"] = Target(weight=layer.gate_up, part="gate", expert=expert)
        targets[f"m.{expert}.up.weight"] = Target(weight=layer.gate_up, part="up", expert=expert)
        targets[f"m.{expert}.down.weight"] = Target(weight=layer.down, expert=expert)
    return targets


SHAPES = {"gate": (8, HIDDEN), "up": (8, HIDDEN), "down": (HIDDEN, 8)}


@pytest.mark.parametrize("rank, size", [(0, 1), (1, 2)])
@pytest.mark.parametrize("name", [name for name in SCHEMES if name != "levels"])
def test_experts(name, rank, size):
    shapes = {f"m.{expert}.{part}": shape for expert in range(3) for part, shape in SHAPES.items()}
    found, expected = both(experts, targets_of_experts, shapes, dict.fromkeys(shapes, SCHEMES[name]), rank, size)
    assert torch.equal(found.prepared_up, expected.prepared_up)
    assert torch.equal(found.prepared_down, expected.prepared_down)


def test_experts_whose_parts_are_stored_differently():
    shapes = {f"m.{expert}.{part}": shape for expert in range(3) for part, shape in SHAPES.items()}
    schemes = {name: ROWS for name in shapes if name.endswith("gate")}
    found, expected = both(experts, targets_of_experts, shapes, schemes)
    assert torch.equal(torch.cat(found.prepared_up, 1), expected.prepared_up)
    torch.testing.assert_close(found.forward(X, 2), expected.forward(X, 2))


def test_modules_with_an_order_of_the_input_of_their_own(caplog):
    shapes = dict.fromkeys(["m.q", "m.k", "m.v"], (16, HIDDEN))
    with caplog.at_level(logging.INFO):
        found, expected = both(qkv, parts_of, shapes, dict.fromkeys(shapes, PERMUTED))
    assert "m.qkv.weight: m.q, m.k, m.v are computed apart" in caplog.text
    assert (len(found.served.groups), len(found.prepared)) == (1, 3)
    assert torch.equal(torch.cat(found.prepared), expected.prepared)
    torch.testing.assert_close(found.forward(X), expected.forward(X))


def test_modules_with_one_order_of_the_input():
    shapes = dict.fromkeys(["m.q", "m.k", "m.v"], (16, HIDDEN))
    schemes = dict.fromkeys(shapes, PERMUTED)
    stored, _ = random_checkpoint(shapes, schemes)
    stored |= {f"m.{part}.permutation": stored["m.q.permutation"] for part in "kv"}
    layer = qkv(quantized_context(schemes))
    assert isinstance(loaded(layer, parts_of(layer), stored).prepared, torch.Tensor)


def test_experts_with_scales_of_inputs_of_their_own():
    static = msgspec.structs.replace(WHOLE, activation="static", activation_element="e4m3fn")
    shapes = {f"m.{expert}.{part}": shape for expert in range(3) for part, shape in SHAPES.items()}
    stored, weights = random_checkpoint(shapes, dict.fromkeys(shapes, WHOLE))
    stored |= {f"{name}.input_scale": torch.tensor(0.5 + len(name) % 2) for name in shapes}
    layer, twin = experts(quantized_context(dict.fromkeys(shapes, static))), experts(make_context(dtype=torch.float64))
    stored["m.1.up.input_scale"] = torch.tensor(0.25)
    found, expected = loaded(layer, targets_of_experts(layer), stored), loaded(twin, targets_of_experts(twin), weights)
    assert torch.equal(torch.cat(found.prepared_up, 1), expected.prepared_up)
    assert torch.equal(found.prepared_down, expected.prepared_down)
    torch.testing.assert_close(found.forward(X, 1), expected.forward(X, 1))


@pytest.mark.parametrize("rank, size", [(0, 1), (1, 2)])
@pytest.mark.parametrize("name", SCHEMES)
def test_the_embedding_and_the_head(name, rank, size):
    for make in (lambda context: Embedding(context, "e", 24, HIDDEN), lambda context: Head(context, "e", 24, HIDDEN)):
        found, expected = both(
            make, lambda layer: plain(layer.weight, "e.weight"), {"e": (24, HIDDEN)}, {"e": SCHEMES[name]}, rank, size
        )
        assert torch.equal(found.prepared.double(), expected.prepared.to(found.prepared.dtype).double())


def tied(context):
    embedding, head = TiedEmbedding(context, "e", 24, HIDDEN), Head(context, "h", 24, HIDDEN, tied=True)
    embedding.tie(head)
    return embedding


def test_a_tied_table_is_read_once_and_asked_for_as_such():
    asked = []

    class Asked(AsIs):
        def scheme(self, layer):
            asked.append((layer.name, layer.role, layer.head, layer.tied))
            return ROWS

    stored, weights = random_checkpoint({"e": (24, HIDDEN)}, {"e": ROWS})
    context = make_context(dtype=torch.float64)
    context.quantization = Asked({"e": ROWS})
    reader, embedding = InMemory(stored), tied(context)
    assert set(asked) == {("e", "embedding", True, True), ("h", "linear", True, True)}
    list(fill(reader, WeightMap(targets=plain(embedding.weight, "e.weight"))))
    embedding.finish()
    assert sorted(reader.read_names) == ["e.scales", "e.weight"]
    assert torch.equal(embedding.head.prepared, weights["e.weight"])
    assert torch.equal(embedding.prepared, weights["e.weight"].float())


def test_a_tied_table_must_be_stored_as_one():
    with pytest.raises(UnsupportedModelError, match=r"e and h are one weight"):
        tied(quantized_context({"e": ROWS}))


def linear(schemes, scheme=ROWS, **options):
    schemes.setdefault("m", scheme)
    return ReplicatedLinear(quantized_context(schemes, **options), "m", HIDDEN, 6)


def test_a_damaged_tensor_is_named():
    layer, (stored, _) = linear({}), random_checkpoint({"m": (6, HIDDEN)}, {"m": ROWS})
    stored["m.scales"] = stored["m.scales"][:-1]
    with pytest.raises(WeightsError, match=r"m has .*'scales': \(5, 1\)"):
        loaded(layer, plain(layer.weight, "m.weight"), stored)


def test_tensors_that_may_be_there():
    layer = linear({})
    layer.served.groups[0].method.optional = lambda layer: ("extra", "m_bias", "other")
    assert layer.weight.stored("m.weight", {"m.extra"}) == {
        "weight": "m.weight",
        "scales": "m.scales",
        "extra": "m.extra",
    }


def test_what_cannot_be_shared_is_told_while_the_model_is_built():
    def down(scheme, size):
        RowParallelLinear(quantized_context({"m.down": scheme}, size=size), "m.down", HIDDEN, 6)

    down(PERMUTED, 1)
    with pytest.raises(UnsupportedModelError, match=r"m\.down: its inputs are permuted \(act-order\).* 2 .* one rank"):
        down(PERMUTED, 2)
    with pytest.raises(UnevenError, match=r"m\.down \(inputs that share a scale\): 16 in groups of 4"):
        down(GROUPS, 8)


def test_a_reordering_that_cuts_tiles_is_refused():
    layer = MergedLinear(quantized_context({"m": TILES}), "m", HIDDEN, {"a": 8, "b": 8}, sources=["m"])
    stored, _ = random_checkpoint({"m": (16, HIDDEN)}, {"m": TILES})
    with pytest.raises(UnsupportedModelError, match=r"^m: its outputs are moved .* groups of 4"):
        loaded(layer, interleaved(layer.weight, "m.weight", 8), stored)


def test_a_transform_that_computes_is_refused():
    layer, (stored, _) = linear({}), random_checkpoint({"m": (6, HIDDEN)}, {"m": ROWS})
    targets = {"m.weight": Target(weight=layer.weight, transform=lambda rows: rows + 1)}
    with pytest.raises(UnsupportedModelError, match=r"m is quantized, and the model does not only reorder"):
        loaded(layer, targets, stored)


def test_a_place_is_written_once_and_wholly():
    layer, (stored, _) = linear({}), random_checkpoint({"m": (6, HIDDEN)}, {"m": ROWS})
    tensors = {"weight": stored["m.weight"], "scales": stored["m.scales"]}
    with pytest.raises(WeightsError, match=r"nothing filled m\.weight"):
        layer.finish()
    layer.weight.write_stored("m.weight", tensors)
    with pytest.raises(WeightsError, match=r"m\.weight was written before"):
        layer.weight.write_stored("m.weight", tensors)
    with pytest.raises(WeightsError, match=r"m\.weight is unquantized, and m\.weight is stored as int8"):
        layer.weight.write("m.weight", torch.zeros(6, HIDDEN))
    with pytest.raises(WeightsError, match="stored as int8"):
        layer.weight.take()


def test_a_model_that_does_not_name_its_sources():
    layer = MergedLinear(quantized_context({"m": ROWS}), "m", HIDDEN, {"a": 8, "b": 8})
    with pytest.raises(PluginError, match=r"m\.a\.weight fills m\.weight, which is quantized as m: the model must"):
        layer.weight.stored("m.a.weight")


def test_a_method_that_names_no_tensors():
    layer = linear({})
    layer.served.groups[0].method.stored = lambda layer: ()
    with pytest.raises(PluginError, match=r"AsIs\.stored\(m\) names no tensor"):
        layer.weight.stored("m.weight")


def test_all_parts_at_once_are_no_mixed_weight():
    layer = qkv(quantized_context({"m.q": ROWS}))
    with pytest.raises(WeightsError, match=r"m\.all holds all parts of m\.qkv\.weight, which are stored differently"):
        layer.weight.write("m.all", torch.zeros(48, HIDDEN))
    layer.weight.write("m.k", torch.zeros(16, HIDDEN), "k")
    assert layer.weight.missing() == ["m.qkv.weight (q)", "m.qkv.weight (v)"]
    assert not layer.weight.recall("anything")
