from __future__ import annotations

from typing import ClassVar

import pytest
import torch

from kernelet.contracts.offer import Settings
from kernelet.contracts.op import DENSE, ScaleLevel, WeightKernelOffer, WeightScheme
from kernelet.contracts.quant import QuantizationMethod
from kernelet.errors import PluginError, SelectionError, UnsupportedModelError
from kernelet.layers.kernels import Part, select_kernel, serve
from kernelet.testing.plugin_view import FixedPlugins
from kernelet.testing.tensors import make_context
from kernelet.testing.weight_kernel.reference import ReferenceKernel

ROLES = ("linear", "embedding")


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

    def scheme(self, layer):
        self.asked.append(layer)
        return None if layer.name.endswith("plain") else INT8

    def canonical(self, layer, stored):
        return {"weight": stored["weight"].to(torch.int8), "scales": torch.ones(len(stored["weight"]), 1)}


INT8 = WeightScheme(element="int8", scales=(ScaleLevel("float32", (1, 0)),))


@pytest.fixture
def quantized():
    context = make_context(plugins=view(ReferenceKernel))
    context.quantization = Rows(Settings(plugin="q"), None, context.config)
    Rows.asked.clear()
    return context


def test_a_method_is_asked_about_the_modules_of_the_checkpoint(quantized):
    parts = [Part(name="a.q", outputs=4, rows=2), Part(name="a.k", outputs=2, rows=1)]
    served = serve(quantized, "a.qkv", "linear", (3, 5), 10, parts, router=True)
    assert (served.scheme, served.kernel.scheme, served.identity) == (INT8, INT8, None)
    names = [(layer.name, layer.role, layer.shape, layer.head, layer.router) for layer in Rows.asked]
    assert names == [("a.q", "linear", (4, 10), False, True), ("a.k", "linear", (2, 10), False, True)]
    weight = torch.arange(15.0).view(3, 5)
    assert torch.equal(served.prepare(weight).double(), weight.double())
    assert quantized.layer_plans[0].detail.startswith("int8, float32 scales of (1, 0)")


def test_an_unquantized_module_is_dense(quantized):
    served = serve(quantized, "a.plain", "embedding", (3, 5), 5, head=True)
    assert (served.scheme, served.method, served.identity) == (DENSE, None, "")
    assert (Rows.asked[0].name, Rows.asked[0].shape, Rows.asked[0].head) == ("a.plain", (3, 5), True)
    weight = torch.randn(3, 5)
    assert served.canonical(weight)["weight"] is weight


def test_parts_that_are_stored_differently(quantized):
    parts = [Part(name="a.q", outputs=4, rows=2), Part(name="a.plain", outputs=2, rows=1)]
    with pytest.raises(UnsupportedModelError, match=r"a\.qkv is computed as one weight"):
        serve(quantized, "a.qkv", "linear", (3, 5), 5, parts)


def test_a_weight_that_no_kernel_serves_is_named():
    context = make_context(plugins=FixedPlugins([]))
    with pytest.raises(SelectionError, match=r"^model\.x: .*int8, float32 scales of \(1, 0\) linear"):
        select_kernel(context, "model.x", "linear", (3, 4), INT8)
