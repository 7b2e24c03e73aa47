"""Moves factors of channels between modules."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn


def is_norm(module: nn.Module) -> bool:
    """Whether a module multiplies channels, one by one: a norm of any kind."""
    own = dict(module.named_parameters(recurse=False))
    return (
        "weight" in own
        and own.keys() <= {"weight", "bias"}
        and all(one.dim() == 1 for one in own.values())
        and not any(True for _ in module.children())
    )


def divide(module: nn.Module, factors: Tensor) -> None:
    """Divides each output channel of a norm or linear module by its factor."""
    weight, bias = module.get_parameter("weight"), module._parameters.get("bias")  # noqa: SLF001 - it may be None
    with torch.no_grad():
        if weight.dim() == 1:
            offset = offset_of(module)
            weight.copy_((weight + offset) / factors - offset)
        else:
            weight.div_(factors[:, None])
        if bias is not None:
            bias.div_(factors)


def multiply(modules: Iterable[nn.Module], factors: Tensor) -> None:
    """Multiplies each input channel of linear modules with its factor."""
    with torch.no_grad():
        for module in modules:
            module.get_parameter("weight").mul_(factors)


def offset_of(norm: nn.Module) -> float:
    """What a norm adds to its weight before it multiplies: 1 where zeros mean that nothing is changed."""
    held = {name: one.clone() for name, one in norm.named_parameters(recurse=False)}
    probe = torch.linspace(-1, 1, held["weight"].numel())[None] + 0.1
    with torch.no_grad():
        for one in norm.parameters():
            one.zero_()
        found = norm(probe)
        for name, one in norm.named_parameters(recurse=False):
            one.copy_(held[name])
    return 0.0 if not bool(found.any()) else 1.0
