"""Selects the op of sampling."""

from __future__ import annotations

from kernelet.contracts.executor import LayerPlan
from kernelet.contracts.plugins import PluginView
from kernelet.layers.ops import DECOMPOSITION, make_op
from kernelet.sampling.ops import SAMPLING, Sample, sample


def select_sample(plugins: PluginView, dtype: str) -> tuple[Sample, LayerPlan]:
    """The best override of ``sample`` for logits of a dtype, else its decomposition.

    Raises:
        SelectionError: several are equally good.
        PluginError: the target is no op.
    """
    (name,) = SAMPLING
    choice = plugins.select_op(name, dtype)
    if choice is None:
        return sample, LayerPlan(name=name, role="op", choice=DECOMPOSITION)
    settings = plugins.settings(choice.chosen.plugin)
    plan = LayerPlan(name=name, role="op", choice=choice.chosen.offer.name, refused=dict(choice.refused))
    return make_op(plugins.load(choice.chosen), settings), plan
