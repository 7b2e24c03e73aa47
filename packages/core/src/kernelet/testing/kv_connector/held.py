"""What the rig holds: requests with their blocks, and transfers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from kernelet.contracts.kv import KVLayout
from kernelet.testing.kv_connector.requests import KitRequest


@dataclass(eq=False)
class Held:
    """A request that the rig runs.

    Attributes:
        block_ids: Of each group.
        num_computed: Tokens whose keys and values are there.
    """

    request: KitRequest
    block_ids: tuple[tuple[int, ...], ...] = ()
    num_computed: int = 0


@dataclass(eq=False)
class Transfer:
    """A load or a handover that is open.

    Attributes:
        start: Tokens that were there before the load.
        end: Where the load ends; 0 for a handover.
        told: Valid tokens, by rank that answered.
    """

    held: Held
    start: int = 0
    end: int = 0
    told: dict[int, int] = field(default_factory=dict)


class Blocks:
    """Who has which block: the one that was free the longest is given out first."""

    def __init__(self, layouts: Sequence[KVLayout]) -> None:
        self._layouts = layouts
        self._free = [list(range(1, layout.num_blocks)) for layout in layouts]

    def allocate(self, held: Held, num_tokens: int) -> None:
        """Gives a request what it lacks for so many tokens, in every group."""
        tables = []
        for group, layout in enumerate(self._layouts):
            have = list(held.block_ids[group]) if held.block_ids else []
            missing = -(-num_tokens // layout.block_size) - len(have)
            tables.append((*have, *(self._free[group].pop(0) for _ in range(missing))))
        held.block_ids = tuple(tables)

    def free(self, held: Held) -> None:
        """Takes all that a request has."""
        for free, blocks in zip(self._free, held.block_ids, strict=False):
            free.extend(blocks)
        held.block_ids, held.num_computed = (), 0
