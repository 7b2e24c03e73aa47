"""How a layer gets the kernel of its weight, and in which form the weight comes to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from kernelet.contracts.op import DENSE, Role, WeightKernel, WeightScheme
from kernelet.contracts.quant import QuantizationMethod, QuantLayer
from kernelet.errors import PluginError, SelectionError
from kernelet.layers.context import ModelContext
from kernelet.layers.stored import Module, ask, canonical_tensors


@dataclass(frozen=True, kw_only=True)
class Part:
    """What a weight is made of.

    Attributes:
        name: Name of the module in the checkpoint.
        outputs: Its rows over all ranks.
        rows: Its rows on this rank.
    """

    name: str
    outputs: int
    rows: int


@dataclass(frozen=True, kw_only=True)
class Served:
    """A layer's weight as it is stored, and what computes with it.

    Attributes:
        kernel: The selected weight kernel.
        scheme: How the weight is stored.
        modules: What the weight is made of, in the order of its rows; where it is one of experts, of each in turn.
        method: Who quantizes; None: nobody, the weight is stored as it is.
    """

    kernel: WeightKernel
    scheme: WeightScheme = DENSE
    modules: Sequence[Module] = ()
    method: QuantizationMethod | None = None

    def canonical(self, weight: Tensor) -> Mapping[str, Tensor]:
        """Canonical tensors of an unquantized weight [out, in] or [experts, out, in], which stays as it is.

        Raises:
            PluginError: the method makes something else than its scheme says.
        """
        if self.method is None:
            return {"weight": weight}
        return canonical_tensors(self.method, self.scheme, self.modules, weight)

    @property
    def identity(self) -> str | None:
        """Names how the weight is quantized, see ``QuantizationMethod.identity``; None: not known."""
        return "" if self.method is None else self.method.identity() or None

    def prepare(self, weight: Tensor) -> Any:
        """Quantizes an unquantized weight, if it is to be, and gives it to the kernel."""
        return self.kernel.prepare(self.canonical(weight))


def serve(
    context: ModelContext,
    name: str,
    role: Role,
    shape: tuple[int, ...],
    inputs: int,
    parts: Sequence[Part] = (),
    *,
    head: bool = False,
    router: bool = False,
) -> Served:
    """Asks the quantization method how a layer's weight is stored, and selects the kernel for that.

    Args:
        context: The model's context.
        name: The layer's global name.
        role: What the weight is used for.
        shape: This rank's [out, in], or [experts, out, in].
        inputs: Inputs over all ranks.
        parts: What the checkpoint has for it, in the order of the rows, and of the experts; none: one module of the
            layer's name.
        head: It makes the logits.
        router: It chooses experts.

    Raises:
        SelectionError: if no kernel serves it.
        UnsupportedModelError: if its parts are stored differently.
        PluginError: if a plugin's class is none of what it should be.
    """
    method = context.quantization
    if method is None:
        return Served(kernel=select_kernel(context, name, role, shape))
    rows, dtype = shape[-2], context.dtype_name
    modules = [
        Module(
            layer=QuantLayer(
                name=part.name, role=role, shape=(part.outputs, inputs), dtype=dtype, head=head, router=router
            ),
            rows=part.rows,
        )
        for part in parts or (Part(name=name, outputs=rows, rows=rows),)
    ]
    scheme = ask(method, name, modules)
    if scheme is None:
        return Served(kernel=select_kernel(context, name, role, shape))
    return Served(
        kernel=select_kernel(context, name, role, shape, scheme), scheme=scheme, modules=modules, method=method
    )


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
        SelectionError: if no kernel serves it; names the layer.
        PluginError: if the plugin's target is no weight kernel.
    """
    try:
        choice = context.plugins.select_weight_kernel(role, scheme, context.dtype_name, shape)
    except SelectionError as error:
        raise SelectionError(f"{name}: {error}") from error
    offer = choice.chosen.offer
    target = context.plugins.load(choice.chosen)
    kernel = target(context.plugins.settings(choice.chosen.plugin), role, scheme)
    if not isinstance(kernel, WeightKernel):
        raise PluginError(f"{choice.chosen.plugin}: {offer.target} of offer {offer.name!r} is no WeightKernel")
    details = (f"{scheme.describe()} {list(shape)}", kernel.detail(context.dtype_name, shape))
    context.record(name, role, offer.name, ", ".join(filter(None, details)), choice.refused)
    return kernel
