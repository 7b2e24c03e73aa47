from __future__ import annotations

import pytest
from layer_doubles import DenseKernel, Plugins, make_context

from kernelet.contracts.op import WeightScheme
from kernelet.errors import PluginError
from kernelet.layers.kernels import select_kernel


def test_the_kernel_is_asked_for_with_dtype_and_shape_and_planned():
    context = make_context(plugins=Plugins())
    kernel = select_kernel(context, "model.x", "linear", (3, 4), WeightScheme(element="int8"))
    assert isinstance(kernel, DenseKernel)
    assert (kernel.role, kernel.scheme.element, kernel.settings.plugin) == ("linear", "int8", "doubles")
    assert context.plugins.asked == [("linear", "float32", (3, 4))]
    (plan,) = context.layer_plans
    assert (plan.name, plan.role, plan.choice) == ("model.x", "linear", "dense")
    assert plan.detail == "int8 [3, 4]"
    assert plan.refused == {"packed": "not today"}


def test_a_target_that_is_no_kernel_is_named():
    context = make_context(plugins=Plugins(kernel=lambda *_: object()))
    with pytest.raises(PluginError, match=r"doubles:Dense.*no WeightKernel"):
        select_kernel(context, "x", "linear", (1, 1))
