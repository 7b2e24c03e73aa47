from __future__ import annotations

from typing import ClassVar

import pytest
import torch

from kernelet.contracts.offer import Settings
from kernelet.contracts.op import DENSE, ScaleLevel, WeightKernelOffer, WeightScheme
from kernelet.contracts.quant import QuantizationMethod
from kernelet.errors import PluginError, SelectionError, UnsupportedModelError
from kernelet.layers.kernels import Use, select_kernel, serve
from kernelet.layers.weights import Shard
from kernelet.testing.plugin_view import FixedPlugins
from kernelet.testing.tensors import make_context
from kernelet.testing.weight_kernel.reference import ReferenceKernel

ROLES = ("linear", "embedding", "grouped_linear")


def view(target):
    offers = [WeightKernelOffer(name=name, target="doubles:Dense", roles=ROLES) for name in ("dense", "packed")]
    return FixedPlugins(offers, {"doubles:Dense": target}, plugin="doubles")


def test_the_kernel_is_asked_for_with_dtype_and_shape_and_planned():
    context = make_context(plugins=view(ReferenceKernel))
    kernel = select_kernel(context, "model.x", "linear", (3, 4), WeightScheme(element="int8"))
    assert isinstance(kernel, ReferenceKernel)
    assert (kernel.role, kernel.scheme.element, kernel.settings.plugin) == ("linear", "int8", "doubles")
    assert context.plugins.asked == [("linear", "float32", (3, 4))]
    (plan,) = context.layer_plans
    assert (plan.name, plan.role, plan.choice) == ("model.x", "linear", "dense")
    assert plan.detail == "int8 [3, 4]"
    assert plan.refused == {"packed": "comes later"}


def test_what_a_kernel_says_of_itself_is_planned():
    class Detailed(ReferenceKernel):
        def detail(self, dtype, shape):
            return f"table 7 for {dtype} {shape[0]}"

    context = make_context(plugins=view(Detailed))
    select_kernel(context, "model.x", "linear", (3, 4))
    assert context.layer_plans[0].detail == "dense [3, 4], table 7 for float32 3"


def test_a_target_that_is_no_kernel_is_named():
    context = make_context(plugins=view(lambda *_: object()))
    with pytest.raises(PluginError, match=r"doubles:Dense.*no WeightKernel"):
        select_kernel(context, "x", "linear", (1, 1))


class Rows(QuantizationMethod):
    """int8 of all that is not called ``plain``."""

    asked: ClassVar = []
    plain = "plain"

    def scheme(self, layer):
        self.asked.append(layer)
        return None if layer.name.endswith(self.plain) else INT8

    def canonical(self, layer, stored):
        return {"weight": stored["weight"].to(torch.int8), "scales": torch.ones(len(stored["weight"]), 1)}


INT8 = WeightScheme(element="int8", scales=(ScaleLevel("float32", (1, 0)),))


@pytest.fixture
def quantized():
    context = make_context(plugins=view(ReferenceKernel))
    context.quantization = Rows(Settings(plugin="q"), None, context.config)
    Rows.asked.clear()
    Rows.plain = "plain"
    return context


def use(sources, role="linear", inputs=5, **options):
    """Parts ``a`` and ``b`` of 4 and 2 rows over two ranks, of which this is one; or one part of 3 rows."""
    two = {"a": Shard(4, 0, 2, shared=True), "b": Shard(2, 0, 1, shared=True)}
    one = {"": Shard.whole(3)}
    outputs = two if len(sources) == 2 else one
    return Use(name="x.qkv", role=role, outputs=outputs, inputs=Shard.whole(inputs), sources=sources, **options)


def test_a_method_is_asked_about_the_modules_of_the_checkpoint(quantized):
    (served,) = serve(quantized, use(["a.q", "a.k"], inputs=10, router=True))
    assert (served.scheme, served.kernel.scheme, served.identity, served.loaded) == (INT8, INT8, None, False)
    names = [(layer.name, layer.role, layer.shape, layer.head, layer.router) for layer in Rows.asked]
    assert names == [("a.q", "linear", (4, 10), False, True), ("a.k", "linear", (2, 10), False, True)]
    weight = torch.arange(30.0).view(3, 10)
    assert torch.equal(served.canonical(weight)["weight"].double(), weight.double())
    assert quantized.layer_plans[0].detail.startswith("int8, float32 scales of (1, 0) [3, 10]")


def test_one_module_may_hold_all_parts(quantized):
    outputs = {"a": Shard(4, 0, 2, shared=True), "b": Shard(2, 0, 1, shared=True)}
    one = Use(name="x", role="linear", outputs=outputs, inputs=Shard.whole(5), sources=["fused"])
    (served,) = serve(quantized, one)
    assert [(layer.name, layer.shape) for layer in Rows.asked] == [("fused", (6, 5))]
    assert (served.parts, [module.rows for module in served.modules]) == (("a", "b"), [3])


def test_an_unquantized_module_is_dense(quantized):
    (served,) = serve(quantized, use(["a.plain"], "embedding", head=True, tied=True))
    assert (served.scheme, served.method, served.identity) == (DENSE, None, "")
    asked = Rows.asked[0]
    assert (asked.name, asked.shape, asked.head, asked.tied) == ("a.plain", (3, 5), True, True)
    weight = torch.randn(3, 5)
    assert served.canonical(weight)["weight"] is weight


def test_parts_that_are_stored_differently_have_a_kernel_each(quantized):
    first, second = serve(quantized, use(["a.q", "a.plain"]))
    assert (first.parts, first.scheme, second.parts, second.scheme) == (("a",), INT8, ("b",), DENSE)
    plans = [(plan.name, plan.detail) for plan in quantized.layer_plans]
    assert plans == [("x.qkv (a)", "int8, float32 scales of (1, 0) [2, 5]"), ("x.qkv (b)", "dense [1, 5]")]


@pytest.mark.parametrize("block, groups", [(1, 1), (0, 1), (2, 1), (3, 1), (4, 2)])
def test_parts_whose_blocks_end_inside_are_not_put_below_each_other(quantized, monkeypatch, block, groups):
    scheme = WeightScheme(element="int8", scales=(ScaleLevel("float32", (block, 0)),))
    monkeypatch.setattr(Rows, "scheme", lambda _self, _layer: scheme)
    outputs = {"a": Shard.whole(6), "b": Shard.whole(5)}
    parts = Use(name="x", role="linear", outputs=outputs, inputs=Shard.whole(5), sources=["a", "b"])
    served = serve(quantized, parts)
    assert len(served) == groups
    assert served[0].scheme == (INT8 if block == 0 else scheme)


def test_experts_that_are_stored_differently_are_named(quantized):
    experts = {"experts": 2, "role": "grouped_linear"}
    (served,) = serve(quantized, use(["m.{expert}.q", "m.{expert}.k"], **experts))
    assert [module.layer.name for module in served.modules] == ["m.0.q", "m.0.k", "m.1.q", "m.1.k"]
    Rows.plain = "m.1.k"
    with pytest.raises(UnsupportedModelError, match=r"x\.qkv: its experts.*: m\.0\.k int8, .*, m\.1\.k unquantized"):
        serve(quantized, use(["m.{expert}.q", "m.{expert}.k"], **experts))


def test_a_weight_that_no_kernel_serves_is_named():
    context = make_context(plugins=FixedPlugins([]))
    with pytest.raises(SelectionError, match=r"^model\.x: .*int8, float32 scales of \(1, 0\) linear"):
        select_kernel(context, "model.x", "linear", (3, 4), INT8)
