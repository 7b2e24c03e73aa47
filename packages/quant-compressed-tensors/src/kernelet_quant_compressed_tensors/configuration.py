"""``quantization_config`` of compressed-tensors, field by field; what is not served is refused by its name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from kernelet.contracts.quant_config import read_struct
from kernelet.errors import UnsupportedModelError

PACKED = "pack-quantized"
WHOLE = ("int-quantized", "float-quantized", "naive-quantized")
MIXED = "mixed-precision"
"""Each group has a format of its own, or the one that its numbers lead to."""

STATUSES = ("compressed", "frozen")
"""Of checkpoints whose tensors are quantized."""

ACT_ORDER = ("group", "dynamic", True)
"""Columns of a group are not neighbours. ``weight`` and ``static`` order them while calibrating only."""


class Numbers(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """``QuantizationArgs``: how weights or inputs become numbers."""

    num_bits: int = 8
    type: str = "int"
    symmetric: bool = True
    group_size: int | None = None
    strategy: str | None = None
    block_structure: tuple[int, int] | str | None = None
    dynamic: bool | str = False
    actorder: bool | str | None = None
    scale_dtype: str | None = None
    zp_dtype: str | None = None
    observer: str | None = None
    observer_kwargs: dict[str, Any] | None = None

    @property
    def kind(self) -> str:
        """The strategy; where none is said, the one that the group size leads to."""
        if self.strategy is not None:
            return self.strategy.lower()
        return "tensor" if self.group_size is None else "channel" if self.group_size == -1 else "group"


class Group(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """``QuantizationScheme``: modules that are stored alike."""

    targets: list[str]
    weights: Numbers | None = None
    input_activations: Numbers | None = None
    output_activations: Numbers | None = None
    format: str | None = None


class Configuration(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """``quantization_config``. The scheme of the KV cache is another plugin's affair."""

    quant_method: Literal["compressed-tensors"]
    config_groups: dict[str, Group]
    format: str = "dense"
    ignore: list[str] | None = None
    quantization_status: str = "compressed"
    kv_cache_scheme: dict[str, Any] | None = None
    sparsity_config: dict[str, Any] | None = None
    moe_sparsity_config: dict[str, Any] | None = None
    transform_config: dict[str, Any] | None = None
    global_compression_ratio: float | None = None
    version: str | None = None


@dataclass(frozen=True, kw_only=True)
class Form:
    """How the modules of a group are stored.

    Attributes:
        group: Name of the group.
        packed: Weights are packed into 32-bit words.
        element: Element type of weights, ``"int4"``, ``"e4m3fn"``.
        bits: Of an element.
        kind: What a scale covers: ``"tensor"``, ``"channel"``, ``"group"``, ``"block"``.
        block: The same as (out, in); 0 means the whole axis.
        symmetric: There are no zero points.
        act_order: A tensor says which group a column belongs to.
        activation: How inputs are rounded, see ``WeightScheme.activation``.
        activation_element: Element type of rounded inputs.
        static: The checkpoint holds a scale for inputs.
    """

    group: str
    packed: bool
    element: str
    bits: int
    kind: str
    block: tuple[int, int]
    symmetric: bool
    act_order: bool
    activation: str | None
    activation_element: str | None
    static: bool

    def block_of(self, outputs: int) -> tuple[int, int]:
        """What a scale covers in canonical form: of a block one output where outputs are no whole blocks.

        Several modules still are one weight then, and ranks may share it as they like.
        """
        height, width = self.block
        return (1, width) if height and outputs % height else self.block


def read(config: Mapping[str, Any] | None) -> Configuration:
    """Checks what is said of the whole checkpoint.

    Raises:
        UnsupportedModelError: a field is unknown, or has a value that is not served; it is named.
    """
    said = read_struct(config, Configuration, "compressed-tensors")
    if said.quantization_status not in STATUSES:
        raise unserved("quantization_status", said.quantization_status, f"one of {', '.join(STATUSES)}")
    sparse = said.sparsity_config or {}
    if sparse.get("format", "dense") != "dense":
        raise unserved("sparsity_config.format", sparse["format"], "dense: sparse weights have no kernels")
    for name in ("moe_sparsity_config", "transform_config"):
        if field := getattr(said, name):
            raise unserved(name, field, "left out")
    return said


def form_of(name: str, group: Group, form: str, *, round_inputs: bool) -> Form:
    """How the modules of a group are stored.

    Args:
        name: Name of the group.
        group: What is said of it.
        form: ``format`` of the whole checkpoint.
        round_inputs: Inputs are rounded as the checkpoint says, not left as they are.

    Raises:
        UnsupportedModelError: a field has a value that is not served; it is named.
    """
    here = f"config_groups.{name}"
    weights, inputs = group.weights, group.input_activations
    if weights is None:
        raise unserved(f"{here}.weights", None, "said: groups without quantized weights have no kernels")
    if group.output_activations is not None:
        raise unserved(f"{here}.output_activations", "set", "null")
    is_packed = _is_packed(here, group, form)
    element = _element(f"{here}.weights", weights)
    if weights.dynamic:
        raise unserved(f"{here}.weights.dynamic", weights.dynamic, "false")
    if element == "e4m3fn" and (is_packed or not weights.symmetric):
        field, value = ("format", form) if is_packed else ("weights.symmetric", False)
        raise unserved(f"{here}.{field}", value, "of integers only: fp8 weights are whole bytes without zero points")
    activation, activation_element = None, None
    if inputs is not None and round_inputs:
        activation, activation_element = _activation(f"{here}.input_activations", inputs)
    return Form(
        group=name,
        packed=is_packed,
        element=element,
        bits=weights.num_bits,
        kind=weights.kind,
        block=_block(f"{here}.weights", weights),
        symmetric=weights.symmetric,
        act_order=weights.actorder in ACT_ORDER,
        activation=activation,
        activation_element=activation_element,
        static=inputs is not None and not inputs.dynamic,
    )


def unserved(field: str, value: object, wanted: str) -> UnsupportedModelError:
    """The error about a field."""
    return UnsupportedModelError(f"quantization_config.{field} is {value!r}; it must be {wanted}")


def _is_packed(here: str, group: Group, form: str) -> bool:
    own = group.format or (None if form == MIXED else form)
    if own is None:
        return group.input_activations is None and group.weights is not None and group.weights.type == "int"
    if own != PACKED and own not in WHOLE:
        where = f"{here}.format" if group.format else "format"
        raise unserved(where, own, f"one of {', '.join((PACKED, *WHOLE))}")
    return own == PACKED


def _element(here: str, numbers: Numbers) -> str:
    kinds = {"int": range(2, 9), "float": (8,)}
    if numbers.type not in kinds:
        raise unserved(f"{here}.type", numbers.type, "int or float")
    if numbers.num_bits not in kinds[numbers.type]:
        raise unserved(f"{here}.num_bits", numbers.num_bits, "2 to 8 of type int, or 8 of type float")
    return f"int{numbers.num_bits}" if numbers.type == "int" else "e4m3fn"


def _block(here: str, weights: Numbers) -> tuple[int, int]:
    if weights.kind in {"tensor", "channel"}:
        return (0, 0) if weights.kind == "tensor" else (1, 0)
    if weights.kind == "group":
        if weights.group_size is None or weights.group_size <= 0:
            raise unserved(f"{here}.group_size", weights.group_size, "more than 0 where the strategy is group")
        return (1, weights.group_size)
    if weights.kind != "block":
        raise unserved(f"{here}.strategy", weights.strategy, "tensor, channel, group or block")
    said = weights.block_structure
    block = said.split("x") if isinstance(said, str) else said or ()
    if len(block) != 2 or not all(str(one).isdigit() and int(one) for one in block):
        raise unserved(f"{here}.block_structure", said, "[rows, columns] where the strategy is block")
    return (int(block[0]), int(block[1]))


def _activation(here: str, inputs: Numbers) -> tuple[str | None, str | None]:
    """How inputs are rounded. A scale of a part of a token has no kernel: such inputs are not rounded at all."""
    instead = "or leave inputs as they are: --set quant-compressed-tensors.activations=none"
    if inputs.type not in {"int", "float"} or inputs.num_bits != 8:
        field = "num_bits" if inputs.type in {"int", "float"} else "type"
        raise unserved(f"{here}.{field}", getattr(inputs, field), f"8 bits of type int or float; {instead}")
    if not inputs.symmetric:
        raise unserved(f"{here}.symmetric", inputs.symmetric, f"true: inputs have no zero points; {instead}")
    served = ("token", "tensor", "group") if inputs.dynamic is True else ("tensor",)
    if inputs.kind not in served or inputs.dynamic not in {True, False}:
        field = "strategy" if inputs.dynamic in {True, False} else "dynamic"
        raise unserved(f"{here}.{field}", getattr(inputs, field), f"dynamic by token, or static by tensor; {instead}")
    if inputs.kind == "group":
        return None, None
    return "dynamic" if inputs.dynamic else "static", "int8" if inputs.type == "int" else "e4m3fn"
