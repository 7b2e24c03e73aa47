"""The draft trees of a step, as kernels see them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelet.contracts.attention import MAX_TREE, AttentionBatch

BITS = np.arange(MAX_TREE, dtype=np.int64)


@dataclass(frozen=True, kw_only=True)
class Trees:
    """What tokens see of trees, and where windows are counted from.

    Attributes:
        starts: int32 [requests], position of the first token of the tree; the request's length where it has none.
        masks: int64 [tokens], of a tree's tokens: those of the batch, without what is outside the window.
        places: int32 [tokens], position of a token; in a tree that of the first, and the number of ancestors.
    """

    starts: NDArray[Any]
    masks: NDArray[np.int64]
    places: NDArray[np.int32]

    @classmethod
    def of(cls, batch: AttentionBatch, window: int | None) -> Trees | None:
        """Those of a step; None: it has none.

        Raises:
            ValueError: a tree has more tokens than a mask has bits, or than its request has in this step.
        """
        sizes, masks = batch.tree_sizes, batch.tree_masks
        if sizes is None or masks is None or not sizes.any():
            return None
        counts = np.diff(batch.query_start_loc)
        over = sizes - np.minimum(MAX_TREE, counts)
        if over.max() > 0:
            worst = int(over.argmax())
            raise ValueError(
                f"a draft tree of {sizes[worst]} tokens: a request has at most {MAX_TREE}, and no more than the "
                f"{counts[worst]} tokens that it computes in this step"
            )
        starts = batch.seq_lens - sizes
        row = np.repeat(np.arange(len(counts)), counts)
        index = np.arange(len(row)) - batch.query_start_loc[row] + (batch.seq_lens - counts)[row]
        in_tree = index >= starts[row]
        seen = ((masks[:, None] >> BITS) & in_tree[:, None]) == 1
        depth = np.where(in_tree, seen.sum(1) - 1, 0)
        places = np.where(in_tree, starts[row] + depth, index).astype(np.int32)
        if window is not None:
            of_tree = np.zeros((len(counts), MAX_TREE), dtype=np.int64)
            of_tree[row[in_tree], (index - starts[row])[in_tree]] = depth[in_tree]
            seen &= of_tree[row] > (depth - window)[:, None]
        pruned = (seen.astype(np.uint64) << BITS.astype(np.uint64)).sum(1, dtype=np.uint64)
        return cls(starts=starts, masks=pruned.view(np.int64), places=places)
