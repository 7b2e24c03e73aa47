from __future__ import annotations

import pytest

from kernelet.contracts.op import WeightKernelOffer, WeightScheme
from kernelet.errors import PluginError
from kernelet.layers.kernels import select_kernel
from kernelet.testing.plugin_view import FixedPlugins
from kernelet.testing.tensors import make_context
from kernelet.testing.weight_kernel.reference import ReferenceKernel


def view(target):
    offers = [WeightKernelOffer(name=name, target="doubles:Dense") for name in ("dense", "packed")]
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
