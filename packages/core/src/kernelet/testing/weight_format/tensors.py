"""Random tensors of any dtype, and what it means that two are the same."""

from __future__ import annotations

import random
from collections.abc import Iterable

import torch
from hypothesis import strategies as st
from torch import Tensor


def shapes(*, scalars: bool) -> st.SearchStrategy[tuple[int, ...]]:
    """Strategy over shapes, of up to three axes."""
    return st.lists(st.integers(1, 9), min_size=0 if scalars else 1, max_size=3).map(tuple)


def random_tensor(dtype: str, shape: tuple[int, ...], seed: int) -> Tensor:
    """Random values that the dtype holds."""
    generator = torch.Generator().manual_seed(seed)
    kind: torch.dtype = getattr(torch, dtype)
    if kind is torch.bool:
        return torch.randint(0, 2, shape, generator=generator).bool()
    if kind.is_floating_point or kind.is_complex:
        return torch.randn(shape, generator=generator).to(kind)
    information = torch.iinfo(kind)
    low, high = max(information.min, -(1 << 40)), min(information.max, 1 << 40)
    return torch.randint(low, high, shape, generator=generator).to(kind)


def make_tensors(wanted: Iterable[tuple[str, tuple[int, ...]]]) -> dict[str, Tensor]:
    """Tensors under names as checkpoints have, in no order."""
    made = [
        (f"model.layers.{index}.{'norm' if len(shape) < 2 else 'proj'}.weight", random_tensor(dtype, shape, index))
        for index, (dtype, shape) in enumerate(wanted)
    ]
    random.Random(len(made)).shuffle(made)
    return dict(made)


def equal(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape, dtype and bits."""
    same = one.shape == other.shape and one.dtype == other.dtype
    return same and torch.equal(_bits(one), _bits(other))


def _bits(tensor: Tensor) -> Tensor:
    return tensor.contiguous().flatten().view(torch.uint8)
