"""Draft trees: the parent of each token, and the masks that attention is given."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

Parents = Sequence[int]
"""Of each token of a tree the token that it follows, which comes before it; -1: it follows what is before the tree."""

TREES = MappingProxyType(
    {
        "a chain": (-1, 0, 1, 2),
        "siblings": (-1, -1, -1, -1, -1),
        "two branches": (-1, -1, 0, 1, 2, 3),
        "a wide and deep one": (-1, 0, 0, -1, 1, 1, 3, 6, 4, 8, 0),
    }
)

LARGEST = tuple((token - 1) // 2 if token % 3 else token - 1 for token in range(64))
"""As many tokens as a mask has bits; branches of many lengths."""


def masks_of(parents: Parents) -> NDArray[np.int64]:
    """int64 [tokens], see ``AttentionBatch.tree_masks``."""
    masks: list[int] = []
    for token, parent in enumerate(parents):
        masks.append((masks[parent] if parent >= 0 else 0) | 1 << token)
    return np.array(masks, dtype=np.uint64).view(np.int64)
