"""The block lists of one request."""

from __future__ import annotations

from dataclasses import dataclass, field

from kernelet.contracts.cache import NULL_BLOCK


@dataclass(frozen=True)
class PrefixHit:
    """Blocks that a request can take over.

    Attributes:
        num_tokens: Tokens that need not be computed; a multiple of every group's block size.
        block_ids: Of each group, the null block where a block is not needed any more.
    """

    num_tokens: int
    block_ids: tuple[list[int], ...]


@dataclass(frozen=True, eq=False)
class BlockHold:
    """References to blocks that are nobody's request's, or not only: of each group."""

    block_ids: tuple[list[int], ...]


@dataclass
class GroupTable:
    """One request's blocks in one group.

    Attributes:
        block_ids: In the order of the tokens; dropped ones are the null block.
        num_dropped: Leading blocks that were dropped.
        num_stored: Leading blocks that were offered to the prefix index.
    """

    block_ids: list[int] = field(default_factory=list)
    num_dropped: int = 0
    num_stored: int = 0

    @property
    def num_held(self) -> int:
        """Blocks that the request has a reference to."""
        return len(self.block_ids) - self.num_dropped

    @property
    def held(self) -> list[int]:
        """These blocks."""
        return self.block_ids[self.num_dropped :]

    def drop_before(self, first_kept: int) -> list[int]:
        """Puts the null block before ``first_kept``, also where there was none yet; returns those that were held."""
        if first_kept <= self.num_dropped:
            return []
        dropped = self.block_ids[self.num_dropped : first_kept]
        self.block_ids[self.num_dropped : first_kept] = [NULL_BLOCK] * (first_kept - self.num_dropped)
        self.num_dropped = first_kept
        return dropped


@dataclass
class RequestTables:
    """One request's blocks in all groups.

    Attributes:
        generation: Number of prefix resets when it took its first block; a later reset keeps it out of the index.
        frozen: What ``freeze`` made.
    """

    groups: tuple[GroupTable, ...]
    generation: int
    frozen: tuple[tuple[int, ...], ...] | None = None

    def freeze(self) -> tuple[tuple[int, ...], ...]:
        """The block list of each group, made anew only after ``changed``."""
        if self.frozen is None:
            self.frozen = tuple(tuple(table.block_ids) for table in self.groups)
        return self.frozen

    def changed(self) -> None:
        """Blocks were added or dropped."""
        self.frozen = None
