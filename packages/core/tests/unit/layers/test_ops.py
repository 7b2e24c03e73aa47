from __future__ import annotations

import torch
from layer_doubles import Plugins

from kernelet.layers.ops import DECOMPOSITION, OP_NAMES, OpTable


def test_every_op_of_the_ladder_is_there_and_planned():
    ops = OpTable(Plugins(), "float32")
    assert all(callable(getattr(ops, name)) for name in OP_NAMES)
    assert [(plan.name, plan.choice) for plan in ops.plans] == [(name, DECOMPOSITION) for name in OP_NAMES]


def test_an_override_replaces_the_op_and_is_in_the_plan():
    ops = OpTable(Plugins(ops={"rms_norm": lambda x, weight, eps: x + 1}), "float32")
    assert ops.rms_norm(torch.ones(1), torch.ones(1), 0.0).tolist() == [2.0]
    plan = next(plan for plan in ops.plans if plan.name == "rms_norm")
    assert (plan.choice, plan.refused) == ("my-rms_norm", {"other": "slower"})


def test_a_decomposition_uses_the_overrides_below_it():
    ops = OpTable(Plugins(ops={"act_and_mul": lambda x, name: x * 100}), "float32")

    class Same:
        def forward(self, x):
            return x

    assert ops.gated_mlp(torch.ones(1, 2), Same(), Same(), "silu").tolist() == [[100.0, 100.0]]


def test_selection_is_asked_once_an_op():
    asked = []

    class Counting(Plugins):
        def select_op(self, op, dtype):
            asked.append((op, dtype))

    OpTable(Counting(), "bfloat16")
    assert asked == [(name, "bfloat16") for name in OP_NAMES]
