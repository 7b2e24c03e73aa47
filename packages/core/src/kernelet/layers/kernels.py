"""How a layer gets the kernel of its weight."""

from __future__ import annotations

from kernelet.contracts.op import DENSE, Role, WeightKernel, WeightScheme
from kernelet.errors import PluginError
from kernelet.layers.context import ModelContext


def select_kernel(
    context: ModelContext, name: str, role: Role, shape: tuple[int, ...], scheme: WeightScheme = DENSE
) -> WeightKernel:
    """Selects and constructs the kernel of one layer, and records the choice in the plan.

    Args:
        context: The model's context.
        name: The layer's global name.
        role: What the weight is used for.
        shape: This rank's [out, in], or [experts, out, in].
        scheme: How the weight is stored.

    Raises:
        SelectionError: if no kernel serves it.
        PluginError: if the plugin's target is no weight kernel.
    """
    choice = context.plugins.select_weight_kernel(role, scheme, context.dtype_name, shape)
    offer = choice.chosen.offer
    context.record(name, role, offer.name, f"{scheme.opaque or scheme.element} {list(shape)}", choice.refused)
    target = context.plugins.load(choice.chosen)
    kernel = target(context.plugins.settings(choice.chosen.plugin), role, scheme)
    if not isinstance(kernel, WeightKernel):
        raise PluginError(f"{choice.chosen.plugin}: {offer.target} of offer {offer.name!r} is no WeightKernel")
    return kernel
