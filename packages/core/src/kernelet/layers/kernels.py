"""How a layer gets the kernels of its weight, and in which form the weight comes to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from torch import Tensor

from kernelet.contracts.op import DENSE, Role, WeightKernel, WeightScheme
from kernelet.contracts.quant import QuantizationMethod, QuantLayer
from kernelet.errors import PluginError, SelectionError, UnsupportedModelError
from kernelet.layers.blocks import share_blocks
from kernelet.layers.canonical import a_row
from kernelet.layers.context import ModelContext
from kernelet.layers.stored import Module, ask, quantize
from kernelet.layers.weights import Shard


@dataclass(frozen=True, kw_only=True)
class Use:
    """A weight, and what a layer does with it.

    Attributes:
        name: The layer's global name.
        role: What the weight is used for.
        outputs: Parts of the output axis, by name, in the order of the rows.
        inputs: Input axis.
        sources: Names of the modules that hold the parts in checkpoints, with ``{expert}`` where there are experts; or
            of one that holds all; empty: one of the layer's name.
        experts: Number of stacked matrices; 0 for a plain one.
        head: It makes the logits.
        router: It chooses experts.
        tied: Embedding and head are one weight.
    """

    name: str
    role: Role
    outputs: Mapping[str, Shard]
    inputs: Shard
    sources: Sequence[str] = ()
    experts: int = 0
    head: bool = False
    router: bool = False
    tied: bool = False

    def shape(self, parts: Sequence[str]) -> tuple[int, ...]:
        """[out, in] or [experts, out, in] of this rank, of some parts."""
        rows = sum(self.outputs[part].size for part in parts)
        return (*([self.experts] if self.experts else []), rows, self.inputs.size)

    def columns(self, dtype: str) -> list[_Column]:
        """What checkpoints have, by module or by module of each expert.

        Raises:
            ValueError: the numbers of sources and parts differ.
        """
        sources = self.sources or (self.name,)
        each = [tuple(self.outputs)] if len(sources) == 1 else [(part,) for part in self.outputs]
        return [
            _Column(parts, [self._module(name, parts, dtype) for name in self._names(source)])
            for source, parts in zip(sources, each, strict=True)
        ]

    def _names(self, source: str) -> list[str]:
        return [source.format(expert=expert) for expert in range(self.experts)] if self.experts else [source]

    def _module(self, name: str, parts: Sequence[str], dtype: str) -> Module:
        shards = [self.outputs[part] for part in parts]
        layer = QuantLayer(
            name=name,
            role=self.role,
            shape=(sum(shard.full for shard in shards), self.inputs.full),
            dtype=dtype,
            head=self.head,
            router=self.router,
            tied=self.tied,
        )
        return Module(layer=layer, rows=sum(shard.size for shard in shards))


@dataclass
class _Column:
    """Rows of a weight that one module holds, or one of each expert."""

    parts: tuple[str, ...]
    modules: list[Module]
    scheme: WeightScheme | None = None


@dataclass(frozen=True, kw_only=True)
class Served:
    """Some parts of a layer's weight that are stored alike, and what computes with them.

    Attributes:
        parts: Names of the parts.
        kernel: The selected weight kernel.
        scheme: How they are stored, together.
        own: How each module is.
        modules: What they are made of, in the order of the rows; where the weight is one of experts, of each in turn.
        method: Who knows how they are stored; None: they are as they are.
        loaded: The checkpoint has them so; else the method quantizes what it has.
    """

    parts: tuple[str, ...]
    kernel: WeightKernel
    scheme: WeightScheme = DENSE
    own: WeightScheme = DENSE
    modules: Sequence[Module] = ()
    method: QuantizationMethod | None = None
    loaded: bool = False

    def canonical(self, weight: Tensor) -> Mapping[str, Tensor]:
        """Canonical tensors of an unquantized weight [out, in] or [experts, out, in], which stays as it is.

        Raises:
            PluginError: the method makes something else than its scheme says.
        """
        if self.method is None:
            return {"weight": weight}
        return quantize(self.method, self.own, self.modules, weight)

    @property
    def identity(self) -> str | None:
        """Names how the weight is quantized, see ``QuantizationMethod.identity``; None: not known."""
        return "" if self.method is None else self.method.identity() or None


def serve(context: ModelContext, use: Use) -> tuple[Served, ...]:
    """Asks the quantization method how a layer's weight is stored, and selects kernels: one for parts stored alike.

    Args:
        context: The model's context.
        use: The weight.

    Raises:
        SelectionError: if no kernel serves it.
        UnsupportedModelError: if experts are stored differently, or ranks cannot share it.
        UnevenError: if ranks cut blocks of elements that share a scale.
        PluginError: if a plugin's class is none of what it should be.
    """
    method = context.quantization
    if method is None:
        parts = tuple(use.outputs)
        return (Served(parts=parts, kernel=select_kernel(context, use.name, use.role, use.shape(parts))),)
    columns = use.columns(context.dtype_name)
    for column in columns:
        column.scheme = _scheme(method, use, column)
    groups = _alike(columns)
    return tuple(_serve(context, method, use, group, alone=len(groups) == 1) for group in groups)


def _scheme(method: QuantizationMethod, use: Use, column: _Column) -> WeightScheme | None:
    answers = {module.layer.name: ask(method, module.layer) for module in column.modules}
    first = next(iter(answers.values()))
    for name, answer in answers.items():
        if answer != first:
            how = "unquantized" if answer is None else answer.describe()
            others = "unquantized" if first is None else first.describe()
            raise UnsupportedModelError(
                f"{use.name}: its experts are computed as one weight, and are stored differently: "
                f"{next(iter(answers))} {others}, {name} {how}. Quantize all of them in the same way, or none"
            )
    return first


def _alike(columns: Sequence[_Column]) -> list[list[_Column]]:
    """Columns in runs whose rows can be put below each other."""
    groups: list[list[_Column]] = []
    for column in columns:
        last = groups[-1] if groups else []
        rows = sum(one.modules[0].rows for one in last)
        levels = () if column.scheme is None else column.scheme.scales
        if last and last[0].scheme == column.scheme and all(rows % (level.block[0] or 1) == 0 for level in levels):
            last.append(column)
        else:
            groups.append([column])
    return groups


def _serve(
    context: ModelContext, method: QuantizationMethod, use: Use, group: Sequence[_Column], *, alone: bool
) -> Served:
    parts = tuple(chain.from_iterable(column.parts for column in group))
    name = use.name if alone else f"{use.name} ({', '.join(parts)})"
    shape, own = use.shape(parts), group[0].scheme
    if own is None:
        return Served(parts=parts, kernel=select_kernel(context, name, use.role, shape))
    scheme = own if len(group) == 1 else a_row(own)
    share_blocks(context, name, own, [use.outputs[part] for part in parts], use.inputs)
    return Served(
        parts=parts,
        kernel=select_kernel(context, name, use.role, shape, scheme),
        scheme=scheme,
        own=own,
        modules=[module for each in zip(*(column.modules for column in group), strict=True) for module in each],
        method=method,
        loaded=method.config is not None,
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
