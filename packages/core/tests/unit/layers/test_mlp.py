from __future__ import annotations

from kernelet.layers.linear import ColumnParallelLinear, MergedLinear, RowParallelLinear
from kernelet.layers.mlp import GatedMLP, PlainMLP
from kernelet.testing.plugin_view import ReferencePlugins
from kernelet.testing.tensors import make_context


def seen(x, up, down, name):
    return x, up, down, name


def test_networks_call_their_op_with_their_layers():
    context = make_context(plugins=ReferencePlugins(ops={"gated_mlp": seen, "mlp": seen}))
    down = RowParallelLinear(context, "down", 8, 4)
    gate_up = MergedLinear(context, "gate_up", 4, {"gate": 8, "up": 8})
    up = ColumnParallelLinear(context, "up", 4, 8)
    gated = GatedMLP(context, "gated", gate_up=gate_up, down=down, activation="silu")
    plain = PlainMLP(context, "plain", up=up, down=down, activation="relu")
    assert gated.forward("x") == ("x", gate_up, down, "silu")
    assert plain.forward("x") == ("x", up, down, "relu")
    assert set(gated.modules()) == {gated, gate_up, down}
