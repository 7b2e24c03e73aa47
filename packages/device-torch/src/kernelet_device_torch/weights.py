"""Weights that sleep in pinned memory of the host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

Allocate = Callable[[Sequence[int], torch.dtype], Tensor]


@torch.no_grad()
def move_to_host(tensors: Sequence[Any], empty_pinned: Allocate) -> Callable[[], None]:
    """Moves tensors to the host, so that nothing of them is left where they were.

    Args:
        tensors: Some may look at the same memory, and do so again once they are back.
        empty_pinned: Makes a tensor of the host.

    Returns:
        Brings them back, bit by bit, as the same objects.
    """
    slept: dict[int, tuple[Tensor, torch.device]] = {}
    where: list[tuple[Tensor, int]] = []
    for tensor in tensors:
        memory = _memory(tensor)
        key = memory.data_ptr()
        if key not in slept:
            copy = empty_pinned((len(memory),), torch.uint8)
            copy.copy_(memory, non_blocking=True)
            slept[key] = (copy, tensor.device)
        where.append((tensor, key))
    for device in {device for _, device in slept.values()}:
        torch.empty(1, device=device).cpu()  # waits for the copies
    for tensor, key in where:
        _look_at(tensor, slept[key][0])

    @torch.no_grad()
    def bring_back() -> None:
        awake = {key: copy.to(device, non_blocking=True) for key, (copy, device) in slept.items()}
        for tensor, key in where:
            _look_at(tensor, awake[key])

    return bring_back


def _memory(tensor: Tensor) -> Tensor:
    """All bytes of the memory that a tensor looks at."""
    return torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(tensor.untyped_storage())


def _look_at(tensor: Tensor, memory: Tensor) -> None:
    """Makes a tensor look at other memory, as it looked at its own."""
    there = torch.empty(0, dtype=tensor.dtype, device=memory.device)
    there.set_(memory.untyped_storage(), tensor.storage_offset(), tensor.shape, tensor.stride())
    tensor.data = there
