"""Arithmetic on rows whose result does not depend on how many rows there are or how many threads compute them."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

SUM_BLOCK = 256
MAX_BLOCK = 64


def wide(logits: Tensor) -> Tensor:
    """Logits in float32 if they are narrower, else as they are."""
    return logits.float() if logits.dtype.itemsize < 4 else logits


def block_sums(rows: Tensor) -> Tensor:
    """Sums in float64 of consecutive blocks of ``SUM_BLOCK`` elements: [rows, n] -> [rows, ceil(n / block)]."""
    padding = -rows.shape[-1] % SUM_BLOCK
    padded = functional.pad(rows, (0, padding)) if padding else rows
    return padded.reshape(len(rows), -1, SUM_BLOCK).sum(-1, dtype=torch.float64)


def running_sums(blocks: Tensor) -> NDArray[np.float64]:
    """Running sums of each row's blocks, added one after the other."""
    sums: NDArray[np.float64] = np.cumsum(blocks.cpu().numpy(), axis=-1)
    return sums


def first_maximum(rows: Tensor) -> list[int]:
    """Index of the largest element of each row; the lowest index among equals."""
    indices: list[int] = rows.cpu().numpy().argmax(-1).tolist()
    return indices


def largest(values: NDArray[np.floating], k: int) -> NDArray[np.int64]:
    """Indices of the k largest elements, in ascending order; of equals at the border, the lowest indices.

    Args:
        values: [n], no NaN.
        k: 1 to n.
    """
    size = len(values)
    blocks = size // MAX_BLOCK
    if k <= blocks // 2:
        # at least k elements reach the k-th largest block maximum, so nothing below it is among the largest
        maxima = values[: blocks * MAX_BLOCK].reshape(blocks, MAX_BLOCK).max(-1)
        candidates = np.flatnonzero(values >= np.partition(maxima, blocks - k)[blocks - k])
    else:
        candidates = np.arange(size)
    found = values[candidates]
    cut = np.partition(found, len(found) - k)[len(found) - k]
    kept = found > cut
    kept[np.flatnonzero(found == cut)[: k - np.count_nonzero(kept)]] = True
    indices: NDArray[np.int64] = candidates[kept]
    return indices


def best(values: NDArray[np.floating], k: int) -> NDArray[np.int64]:
    """Indices of the k largest elements, largest first; of equals, the lowest index first.

    Args:
        values: [n], no NaN.
        k: 1 to n.
    """
    indices = largest(values, k)
    order: NDArray[np.int64] = indices[np.argsort(-values[indices], kind="stable")]
    return order
