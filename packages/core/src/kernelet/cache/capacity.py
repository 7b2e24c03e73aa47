"""Whether requests fit: counts of blocks, one entry a group; changes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kernelet.cache.block_pool import BlockPool
from kernelet.cache.tables import PrefixHit, RequestTables
from kernelet.contracts.cache import GroupManager
from kernelet.request.request import Request


@dataclass(frozen=True)
class CacheGroupState:
    """What one group is run with."""

    block_size: int
    manager: GroupManager
    pool: BlockPool


class Capacity:
    """What a cache manager's pools can still hold."""

    def __init__(self, groups: Sequence[CacheGroupState], tables: Mapping[str, RequestTables], chunk: int) -> None:
        self._groups = groups
        self._tables = tables
        self._chunk = chunk

    @property
    def usage(self) -> float:
        """Share of blocks in use of the fullest group, 0 to 1."""
        return max(group.pool.usage for group in self._groups)

    def demand(self, request: Request, hit: PrefixHit) -> list[int]:
        """Blocks that must be free so that all tokens that the request has now can be computed after a hit."""
        counts = []
        for group, blocks in zip(self._groups, hit.block_ids, strict=True):
            manager, pool = group.manager, group.pool
            if manager.first_kept_block(request.num_tokens) > 0:
                # blocks come back on the way; shared ones do not, so they are not counted as a gain
                counts.append(manager.peak_blocks(request.num_tokens, self._chunk))
            else:
                shared = sum(pool.references(block) > 0 for block in blocks)
                counts.append(manager.num_blocks(request.num_tokens) - shared)
        return counts

    def outstanding(self, request: Request) -> list[int]:
        """Blocks that a running request still takes until the tokens that it has now are computed."""
        counts = []
        for group, table in zip(self._groups, self._tables[request.request_id].groups, strict=True):
            missing = group.manager.num_blocks(request.num_tokens) - len(table.block_ids)
            peak = group.manager.peak_blocks(request.num_tokens, self._chunk)
            counts.append(max(0, min(missing, peak - table.num_held)))
        return counts

    def has_free(self, counts: Sequence[int]) -> bool:
        """Whether every group could hand out so many blocks."""
        return all(group.pool.num_free >= count for group, count in zip(self._groups, counts, strict=True))

    def describe(self, counts: Sequence[int]) -> str:
        """The counts beside what the groups have in all, for people."""
        return "; ".join(
            f"group {index}: {count} of {group.pool.num_blocks - 1} blocks"
            for index, (group, count) in enumerate(zip(self._groups, counts, strict=True))
        )
