"""Selects the ops of sampling."""

from __future__ import annotations

from typing import Any

from kernelet.contracts.executor import LayerPlan
from kernelet.contracts.plugins import PluginView
from kernelet.layers.ops import DECOMPOSITION, make_op
from kernelet.sampling.ops import SAMPLING, SamplingOps


def select_sampling_ops(plugins: PluginView, dtype: str) -> tuple[SamplingOps, tuple[LayerPlan, ...]]:
    """The best override of each for logits of a dtype, else its decomposition.

    Raises:
        SelectionError: several are equally good.
        PluginError: a target is no op.
    """
    made: dict[str, Any] = {}
    plans = []
    for name in SAMPLING:
        choice = plugins.select_op(name, dtype)
        if choice is None:
            plans.append(LayerPlan(name=name, role="op", choice=DECOMPOSITION))
        else:
            made[name] = make_op(plugins.load(choice.chosen), plugins.settings(choice.chosen.plugin))
            chosen = choice.chosen.offer.name
            plans.append(LayerPlan(name=name, role="op", choice=chosen, refused=dict(choice.refused)))
    return SamplingOps(**made), tuple(plans)
