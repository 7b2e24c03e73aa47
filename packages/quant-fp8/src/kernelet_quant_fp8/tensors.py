"""The tensors of one module, checked, in canonical form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from kernelet.contracts.quant import QuantLayer
from kernelet.errors import WeightsError

WEIGHT_SCALES = ("weight_scale", "weight_scale_inv")
"""Weights are multiplied by either: the second is named after what its writer divides by."""

INPUT_SCALES = ("input_scale", "activation_scale")

FNUZ = torch.float8_e4m3fnuz
"""The same numbers, halved, with another largest and smallest one, and one NaN in place of -0."""

SCALES = (torch.float32, torch.bfloat16, torch.float16, torch.float8_e8m0fnu)


def weight_of(layer: QuantLayer, stored: Mapping[str, Tensor]) -> tuple[Tensor, float]:
    """float8_e4m3fn [out, in], and what its scales are to be multiplied by.

    Raises:
        WeightsError: it is missing, damaged, or has values that are not of this type.
    """
    tensor = stored.get("weight")
    if tensor is None:
        raise WeightsError(f"{layer.name}: weight is missing")
    if tuple(tensor.shape) != layer.shape or tensor.dtype not in {torch.float8_e4m3fn, FNUZ}:
        wanted = f"torch.float8_e4m3fn {list(layer.shape)}"
        raise WeightsError(f"{layer.name}: weight is {tensor.dtype} {list(tensor.shape)}, expected {wanted}")
    is_damaged = tensor.view(torch.uint8).eq(0x80) if tensor.dtype is FNUZ else _without_sign(tensor).eq(0x7F)
    if bool(is_damaged.any()):
        raise WeightsError(f"{layer.name}: weight has values that are no numbers")
    return (tensor, 1.0) if tensor.dtype is not FNUZ else _converted(layer, tensor)


def scales_of(layer: QuantLayer, stored: Mapping[str, Tensor], block: tuple[int, int] | None) -> Tensor:
    """float32 [blocks], or [out, 1] of scales of outputs or of the whole tensor.

    Args:
        layer: The module.
        stored: Its tensors by suffix.
        block: What a scale covers; None: an output, or all.

    Raises:
        WeightsError: they are missing, damaged, or of another size.
    """
    rows, columns = layer.shape
    name, tensor = _one_of(layer, stored, WEIGHT_SCALES)
    shapes = (
        [(), (1,), (1, 1), (rows,), (rows, 1)] if block is None else [(-(-rows // block[0]), -(-columns // block[1]))]
    )
    if tensor.dtype is torch.uint8:  # exponents, where a writer has no dtype for them
        tensor = tensor.view(torch.float8_e8m0fnu)
    if tuple(tensor.shape) not in shapes or tensor.dtype not in SCALES:
        wanted = f"floats {' or '.join(str(list(shape)) for shape in shapes)}"
        raise WeightsError(f"{layer.name}: {name} is {tensor.dtype} {list(tensor.shape)}, expected {wanted}")
    found = tensor.float()
    if not bool(torch.isfinite(found).all()):
        raise WeightsError(f"{layer.name}: {name} has values that are infinite or no numbers")
    return found.reshape(-1, 1).expand(rows, 1).contiguous() if block is None else found


def input_scale(layer: QuantLayer, stored: Mapping[str, Tensor]) -> Tensor:
    """float32 [].

    Raises:
        WeightsError: it is missing, or no scale.
    """
    name, tensor = _one_of(layer, stored, INPUT_SCALES)
    if tensor.numel() != 1 or tensor.dtype not in SCALES:
        raise WeightsError(f"{layer.name}: {name} is {tensor.dtype} {list(tensor.shape)}, expected one float")
    found = tensor.float().reshape(())
    if not 0 < float(found) < float("inf"):
        raise WeightsError(f"{layer.name}: {name} is {float(found)}")
    return found


def _one_of(layer: QuantLayer, stored: Mapping[str, Tensor], names: Sequence[str]) -> tuple[str, Tensor]:
    found = [name for name in names if name in stored]
    if len(found) != 1:
        raise WeightsError(
            f"{layer.name}: the checkpoint has {' and '.join(found) or f'no {names[0]}'}, expected one scale"
        )
    return found[0], stored[found[0]]


def _converted(layer: QuantLayer, weight: Tensor) -> tuple[Tensor, float]:
    """e4m3fnuz as e4m3fn: the values themselves, or twice them."""
    for factor in (2.0, 1.0):
        wanted = weight.float() * factor
        found = wanted.to(torch.float8_e4m3fn)
        if torch.equal(found.float(), wanted):
            return found, 1 / factor
    raise WeightsError(
        f"{layer.name}: weight is {FNUZ}, and its largest and smallest values are in no {torch.float8_e4m3fn}; take a "
        f"checkpoint in that type"
    )


def _without_sign(weight: Tensor) -> Tensor:
    return weight.view(torch.uint8) & 0x7F
