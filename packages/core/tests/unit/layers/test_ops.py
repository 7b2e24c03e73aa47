from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from kernelet.contracts.offer import Settings
from kernelet.contracts.op import Op, OpOffer
from kernelet.errors import ConfigError, PluginError
from kernelet.layers.ops import DECOMPOSITION, OP_NAMES, OpTable, make_op
from kernelet.testing.plugin_view import FixedPlugins, ReferencePlugins


def test_every_op_of_the_ladder_is_there_and_planned():
    ops = OpTable(ReferencePlugins(), "float32")
    assert all(callable(getattr(ops, name)) for name in OP_NAMES)
    assert [(plan.name, plan.choice) for plan in ops.plans] == [(name, DECOMPOSITION) for name in OP_NAMES]


def test_an_override_replaces_the_op_and_is_in_the_plan():
    offers = [OpOffer(name=name, target="plus", op="rms_norm") for name in ("my-rms_norm", "other")]
    ops = OpTable(FixedPlugins(offers, {"plus": lambda x, weight, eps: x + 1}), "float32")
    assert ops.rms_norm(torch.ones(1), torch.ones(1), 0.0).tolist() == [2.0]
    plan = next(plan for plan in ops.plans if plan.name == "rms_norm")
    assert (plan.choice, plan.refused) == ("my-rms_norm", {"other": "comes later"})


def test_a_decomposition_uses_the_overrides_below_it():
    ops = OpTable(ReferencePlugins(ops={"act_and_mul": lambda x, name: x * 100}), "float32")

    class Same:
        def forward(self, x):
            return x

    assert ops.gated_mlp(torch.ones(1, 2), Same(), Same(), "silu").tolist() == [[100.0, 100.0]]


def test_selection_is_asked_once_an_op():
    asked = []

    class Counting(ReferencePlugins):
        def select_op(self, op, dtype):
            asked.append((op, dtype))

    OpTable(Counting(), "bfloat16")
    assert asked == [(name, "bfloat16") for name in OP_NAMES]


class Ranked(ReferencePlugins):
    """Every op is overridden, some of them by a stranger that was named."""

    def __init__(self, *invited):
        super().__init__(ops=dict.fromkeys(OP_NAMES, print))
        self.invited = invited

    def select_op(self, op, dtype):
        return replace(super().select_op(op, dtype), invited=op in self.invited)


@pytest.mark.parametrize(
    "invited, not_used",
    [
        ((), set()),
        (("decoder_layer",), set()),
        (("act_and_mul",), {"gated_mlp", "moe", "decoder_layer"}),
        (("rms_norm",), {"add_norm", "qkv_rope_write", "decoder_layer"}),
        (("gated_mlp",), {"decoder_layer"}),
        (("gated_mlp", "act_and_mul"), {"moe", "decoder_layer"}),
        (("attention", "decoder_layer"), set()),
    ],
)
def test_a_composite_op_of_the_platform_does_not_swallow_one_that_was_named(invited, not_used):
    plans = {plan.name: plan for plan in OpTable(Ranked(*invited), "float32").plans}
    assert {name for name, plan in plans.items() if plan.choice == DECOMPOSITION} == not_used
    for name in not_used:
        assert f"my-{invited[-1]} was named for {invited[-1]}" in plans[name].refused[f"my-{name}"]


class Shifted(Op):
    """Adds what its plugin's settings say, and counts its calls."""

    def __init__(self, settings):
        super().__init__(settings)
        if "by" not in settings.values:
            raise ConfigError("say by how much")
        self.by = settings["by"]
        self.calls = 0

    def __call__(self, x, name):
        self.calls += 1
        return x + self.by


def test_a_class_of_op_is_made_once_with_its_plugins_settings():
    class WithSettings(ReferencePlugins):
        def settings(self, plugin):
            return Settings(plugin=plugin, values={"by": {"reference": 3}[plugin]})

    ops = OpTable(WithSettings(ops={"activation": Shifted}), "float32")
    assert ops.activation(1, "silu") == ops.activation(1, "relu") == 4
    assert ops.activation.calls == 2


def test_a_class_of_op_may_refuse_its_settings():
    with pytest.raises(ConfigError, match="say by how much"):
        OpTable(ReferencePlugins(ops={"activation": Shifted}), "float32")


@pytest.mark.parametrize(
    "target, found",
    [(torch.nn.ReLU, "the class ReLU, which does not derive from Op"), (3, "3"), (dict, "the class dict")],
)
def test_a_target_that_is_no_op(target, found):
    with pytest.raises(PluginError, match=f"acme: the target of an op is {found}.*: name a function, or a subclass"):
        make_op(target, Settings(plugin="acme"))


def test_a_callable_object_is_an_op_as_it_is():
    relu = torch.nn.ReLU()
    assert make_op(relu, Settings(plugin="acme")) is relu
