"""The ladder of ops: names, signatures, and which implementation of each an engine runs.

An op is a callable, or a class of ``kernelet.contracts.op.Op`` that makes one. Composite ones decompose into those
below, elementary ones into plain torch; a platform overrides at the level it wants (``kernelet_ops``), and an override
of a composite op replaces all that it decomposes into. Where the operator named a stranger's override of one of these,
the composite ops of the platform above it are not used: they would swallow it. Rules for every implementation: the
arithmetic of a row depends on no other row, nothing is computed below the input's dtype, and norms of 16-bit inputs are
computed in float32.

=================  =============================================================================================
elementary         signature
=================  =============================================================================================
``rms_norm``       ``(x [rows, n], weight [n], eps) -> [rows, n]``; any offset is already part of the weight
``layer_norm``     ``(x [rows, n], weight [n], bias [n] or None, eps) -> [rows, n]``
``rotary``         ``(x [tokens, heads, head_size], rope) -> the same``; may work in place
``activation``     ``(x, name) -> the same shape``; names: see ``kernelet.layers.activation``
``act_and_mul``    ``(x [rows, 2 n], name) -> [rows, n]``: activation of the first half times the second
``add``            ``(x, y, scale) -> x + scale * y``
=================  =============================================================================================

==================  ============================================================================================
composite           signature
==================  ============================================================================================
``add_norm``        ``(residual, x, scale, norm) -> (norm(s), s)`` with ``s = residual + scale * x``
``mlp``             ``(x, up, down, name) -> [rows, hidden]``: ``down(activation(up(x)))``
``gated_mlp``       ``(x, gate_up, down, name) -> [rows, hidden]``: ``down(act_and_mul(gate_up(x)))``
``qkv_rope_write``  ``(qkv [tokens, (heads + 2 kv) size], heads, rope, attention, cache, metadata) -> query
                    [tokens, heads, size]``: norms and rotation, then keys and values are written to the cache
``attention``       ``(query, attention, cache, metadata, sinks) -> [tokens, heads, size]``, reading the cache only
``moe``             ``(x, logits [rows, experts], experts, routing) -> [rows, hidden]``
``decoder_layer``   ``(layer, residual, step) -> residual``; an override that does not serve this kind of layer
                    returns ``layer.compose(residual, step)``, which is the decomposition
==================  ============================================================================================

A residual stream is in the wide dtype (float32 for 16-bit models): it is ``x`` of ``rms_norm``, ``layer_norm`` and
``add`` and keeps its dtype there; what is added to it is in the model's.

``layer`` and ``step`` are a ``ComposedLayer`` and a ``Step`` of ``kernelet.layers.step``; ``layer.index`` is its
place in the model, ``layer.parts`` what it is made of. ``norm`` is a ``kernelet.layers.norm.Norm``, ``up``, ``down``
and ``gate_up`` are linear layers, ``heads`` is a ``QKVHeads``, ``rope`` a ``RopeRows`` or None, ``experts`` and
``routing`` come from ``kernelet.layers.moe``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, cast

from torch import Tensor

from kernelet.contracts.executor import LayerPlan
from kernelet.contracts.offer import Settings
from kernelet.contracts.op import Op, OpOffer
from kernelet.contracts.plugins import Choice, PluginView
from kernelet.errors import PluginError
from kernelet.layers import composite, elementary

ELEMENTARY = ("rms_norm", "layer_norm", "rotary", "activation", "act_and_mul", "add")
COMPOSITE = ("add_norm", "mlp", "gated_mlp", "qkv_rope_write", "attention", "moe", "decoder_layer")
OP_NAMES = ELEMENTARY + COMPOSITE
"""All ops, in the order of the ladder."""

BELOW: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "add_norm": ("add", "rms_norm", "layer_norm"),
        "mlp": ("activation",),
        "gated_mlp": ("act_and_mul",),
        "qkv_rope_write": ("rotary", "rms_norm", "layer_norm"),
        "attention": (),
        "moe": ("act_and_mul",),
        "decoder_layer": tuple(name for name in OP_NAMES if name != "decoder_layer"),
    }
)
"""All that each composite op decomposes into."""

DECOMPOSITION = "decomposition"
"""What the plan says of an op that nobody overrides."""


class OpTable:
    """The selected implementation of each op, as plain attributes.

    Attributes:
        plans: One entry an op: what was selected, and why the others were refused.
    """

    rms_norm: Callable[[Tensor, Tensor, float], Tensor]
    layer_norm: Callable[[Tensor, Tensor, Tensor | None, float], Tensor]
    rotary: Callable[[Tensor, Any], Tensor]
    activation: Callable[[Tensor, str], Tensor]
    act_and_mul: Callable[[Tensor, str], Tensor]
    add: Callable[[Tensor, Tensor, float], Tensor]
    add_norm: Callable[[Tensor, Tensor, float, Any], tuple[Tensor, Tensor]]
    mlp: Callable[[Tensor, Any, Any, str], Tensor]
    gated_mlp: Callable[[Tensor, Any, Any, str], Tensor]
    qkv_rope_write: Callable[[Tensor, Any, Any, Any, Any, Any], Tensor]
    attention: Callable[[Tensor, Any, Any, Any, Tensor | None], Tensor]
    moe: Callable[[Tensor, Tensor, Any, Any], Tensor]
    decoder_layer: Callable[[Any, Tensor, Any], Tensor]

    def __init__(self, plugins: PluginView, dtype: str) -> None:
        """Selects each op once.

        Args:
            plugins: Where overrides come from.
            dtype: Name of the compute dtype.

        Raises:
            SelectionError: several are equally good.
            PluginError: a target is no op, or cannot be imported.
        """
        self.plans: list[LayerPlan] = []
        choices = {name: plugins.select_op(name, dtype) for name in OP_NAMES}
        for name, choice in choices.items():
            refused = _swallows(name, choices)
            if choice is None or refused:
                setattr(self, name, self._decomposition(name))
                self.plans.append(LayerPlan(name=name, role="op", choice=DECOMPOSITION, refused=refused))
            else:
                settings = plugins.settings(choice.chosen.plugin)
                setattr(self, name, make_op(plugins.load(choice.chosen), settings))
                self.plans.append(
                    LayerPlan(name=name, role="op", choice=choice.chosen.offer.name, refused=dict(choice.refused))
                )

    def _decomposition(self, name: str) -> Callable[..., Any]:
        if name in ELEMENTARY:
            return cast("Callable[..., Any]", getattr(elementary, name))
        return partial(getattr(composite, name), self)


def _swallows(name: str, choices: Mapping[str, Choice[OpOffer] | None]) -> dict[str, str]:
    """Why the override of a composite op is not used, by its name: it would replace one that was named."""
    choice = choices[name]
    if choice is None or choice.invited:
        return {}
    below = [(op, choices[op]) for op in BELOW.get(name, ())]
    named = [f"{lower.chosen.offer.name} was named for {op}" for op, lower in below if lower and lower.invited]
    return {choice.chosen.offer.name: f"it replaces what is below: {', '.join(named)}"} if named else {}


def make_op(target: Any, settings: Settings) -> Callable[..., Any]:
    """The op that an offer's target gives: an instance where it is a class of ``Op``, else the target itself.

    Args:
        target: What ``OpOffer.target`` names.
        settings: The plugin's.

    Raises:
        PluginError: it is no op.
    """
    is_class = isinstance(target, type)
    if not callable(target) or (is_class and not issubclass(target, Op)):
        what = f"the class {target.__name__}, which does not derive from Op" if is_class else repr(target)
        raise PluginError(f"{settings.plugin}: the target of an op is {what}: name a function, or a subclass of Op")
    made: Callable[..., Any] = target(settings) if is_class else target
    return made
