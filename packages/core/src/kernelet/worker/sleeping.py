"""Finds all tensors of a model, so that they can sleep elsewhere."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor

OPAQUE = (
    *(str, bytes, int, float, complex, type(None), type, ModuleType, FunctionType, BuiltinFunctionType, MethodType),
    *(np.ndarray, torch.dtype, torch.device, torch.Size),
)
"""What holds no tensor of a model."""


def tensors_of(root: object, device: Any, without: Collection[object] = ()) -> list[Tensor]:
    """Tensors on a device that something holds, however deep, each once; a view's base too.

    Kernels keep what they made of weights in any form: containers and attributes are looked into.

    Args:
        root: Where to begin.
        device: Tensors elsewhere are left out.
        without: Objects that are not looked into.
    """
    found: list[Tensor] = []
    seen = {id(one) for one in without}
    kept: list[object] = [root]  # also keeps alive what is made on the way, so that no id is used twice
    for one in kept:
        if id(one) in seen or isinstance(one, OPAQUE):
            continue
        seen.add(id(one))
        if isinstance(one, Tensor):
            if one.device.type == torch.device(device).type:
                found.append(one)
            if one._base is not None:  # noqa: SLF001  a view holds what it looks at, under no other name
                kept.append(one._base)  # noqa: SLF001
            continue
        kept.extend(_parts(one))
    return found


def _parts(one: object) -> Iterable[object]:
    if isinstance(one, Mapping):
        return (*one.keys(), *one.values())
    if isinstance(one, list | tuple | set | frozenset):
        return tuple(one)
    names = [name for kind in type(one).__mro__ for name in _slots(kind)]
    slots = tuple(getattr(one, name) for name in names if hasattr(one, name))
    return (*vars(one).values(), *slots) if hasattr(one, "__dict__") else slots


def _slots(kind: type) -> tuple[str, ...]:
    named = vars(kind).get("__slots__", ())
    return (named,) if isinstance(named, str) else tuple(named)
