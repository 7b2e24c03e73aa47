"""Blocks of elements that share a scale lie on one rank."""

from __future__ import annotations

from collections.abc import Iterable

from kernelet.contracts.op import WeightScheme
from kernelet.errors import UnsupportedModelError
from kernelet.layers.context import ModelContext
from kernelet.layers.weights import Shard


def share_blocks(
    context: ModelContext, name: str, scheme: WeightScheme, outputs: Iterable[Shard], inputs: Shard
) -> None:
    """Checks that ranks do not cut the blocks of a weight [out, in]; one that is a whole axis is of a rank's own part.

    Args:
        context: The model's context.
        name: Name of the layer.
        scheme: How the weight is stored.
        outputs: Parts of the output axis.
        inputs: Input axis.

    Raises:
        UnevenError: naming layer and block.
        UnsupportedModelError: the inputs are permuted, and ranks share them.
    """
    shards = list(outputs)
    if scheme.permuted and inputs.shared and context.parallel.size > 1:
        raise UnsupportedModelError(
            f"{name}: its inputs are permuted (act-order), and cannot be shared by {context.parallel.size} "
            f"tensor-parallel ranks; run the model on one rank"
        )
    for level in scheme.scales:
        rows, columns = level.block
        if inputs.shared and columns > 1:
            context.parallel.share(inputs.full, f"{name} (inputs that share a scale)", unit=columns)
        for shard in shards:
            if shard.shared and rows > 1:
                context.parallel.share(shard.full, f"{name} (outputs that share a scale)", unit=rows)
