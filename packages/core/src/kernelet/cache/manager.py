"""The blocks of all requests in all groups, and the prefixes that requests share."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from weakref import WeakKeyDictionary

from kernelet.cache.block_pool import BlockPool
from kernelet.cache.capacity import CacheGroupState, Capacity
from kernelet.cache.events import AllBlocksCleared, BlockStored, CacheEvent, EventLog
from kernelet.cache.eviction import lru
from kernelet.cache.groups import group_manager
from kernelet.cache.keys import ROOT, BlockKey, KeyChain, block_extras
from kernelet.cache.prefix_index import PrefixIndex
from kernelet.cache.tables import BlockHold, GroupTable, PrefixHit, RequestTables
from kernelet.config import CacheConfig
from kernelet.contracts.cache import NULL_BLOCK, CacheConfigPlan, EvictionPolicy, GroupManager
from kernelet.request.request import Request


class CacheManager:
    """Gives blocks to requests: in every group or in none.

    A request holds blocks from ``admit`` to ``free``; ``forget`` ends it.

    Attributes:
        caching: Whether prefixes are looked up.
        pools: The pool of each group.
        capacity: Whether requests fit.
        nothing: The hit of a request that finds nothing.
    """

    def __init__(
        self,
        plan: CacheConfigPlan,
        config: CacheConfig,
        *,
        chunk: int,
        eviction: Callable[[int], EvictionPolicy] = lru,
        managers: Mapping[str, type[GroupManager]] | None = None,
        record_events: bool = False,
    ) -> None:
        """Makes a pool a group.

        Args:
            plan: The groups and their numbers of blocks.
            config: Whether prefixes are cached.
            chunk: Most tokens that a step computes of one request.
            eviction: Makes the eviction policy of one pool, given its number of blocks.
            managers: ``GroupManager`` classes by tag of their spec; None: core's.
            record_events: Keep events for ``take_events``.

        Raises:
            ConfigError: a group's kind has no manager.
        """
        self.caching = config.enable_prefix_caching
        self._log = EventLog(enabled=record_events)
        self._groups = tuple(
            CacheGroupState(
                group.spec.block_size,
                group_manager(group.spec, managers),
                BlockPool(group.num_blocks, eviction(group.num_blocks), PrefixIndex(index, self._log)),
            )
            for index, group in enumerate(plan.groups)
        )
        self._alignment = math.lcm(*(group.block_size for group in self._groups))
        self._tables: dict[str, RequestTables] = {}
        self._held: set[BlockHold] = set()
        self.pools = tuple(group.pool for group in self._groups)
        self.capacity = Capacity(self._groups, self._tables, chunk)
        self.nothing = PrefixHit(0, tuple([] for _ in self._groups))
        # by the record itself, not by its id: keys can never outlive the tokens that they were made from
        self._chains: WeakKeyDictionary[Request, dict[int, KeyChain]] = WeakKeyDictionary()
        self._generation = 0

    def lookup(self, request: Request, limit: int | None = None) -> PrefixHit:
        """The longest prefix that every group has, always short of the last token; changes nothing.

        Args:
            request: Holds no blocks.
            limit: Largest number of tokens to take.
        """
        most = request.num_tokens - 1 if limit is None else min(limit, request.num_tokens - 1)
        if not self.caching or most < self._alignment:
            return self.nothing
        found = [self._find(request, group, most // group.block_size) for group in self._groups]
        tokens = self._agree(found, most)
        block_ids = []
        for group, blocks in zip(self._groups, found, strict=True):
            first, count = group.manager.first_kept_block(tokens), tokens // group.block_size
            kept = [block for block in blocks[first:count] if block is not None]
            block_ids.append([NULL_BLOCK] * min(first, count) + kept)
        return PrefixHit(tokens, tuple(block_ids))

    def block_ids(self, request: Request) -> tuple[list[int], ...]:
        """The request's block list of each group (copies)."""
        return tuple(list(table.block_ids) for table in self._tables[request.request_id].groups)

    def block_lists(self, request: Request) -> tuple[tuple[int, ...], ...]:
        """The request's block list of each group, empty where it holds none; the same object until it changes."""
        tables = self._tables.get(request.request_id)
        return tuple(() for _ in self._groups) if tables is None else tables.freeze()

    def holds(self, request: Request) -> bool:
        """Whether a request holds blocks."""
        return request.request_id in self._tables

    def reaches(self, request: Request, num_tokens: int) -> bool:
        """Whether a request's blocks are all that attention needs after ``num_tokens`` tokens: none was dropped."""
        tables = self._tables[request.request_id].groups
        return all(
            table.num_dropped <= group.manager.first_kept_block(num_tokens)
            for group, table in zip(self._groups, tables, strict=True)
        )

    def hold(self, request: Request) -> BlockHold:
        """A further reference to each of a request's blocks, which outlives it; to be given to ``release``."""
        hold = BlockHold(tuple(table.held for table in self._tables[request.request_id].groups))
        for group, blocks in zip(self._groups, hold.block_ids, strict=True):
            group.pool.touch(blocks)
        self._held.add(hold)
        return hold

    def release(self, hold: BlockHold) -> None:
        """Gives a hold's references back.

        Raises:
            KeyError: they were given back.
        """
        self._held.remove(hold)
        for group, blocks in zip(self._groups, hold.block_ids, strict=True):
            group.pool.release(blocks)

    def admit(self, request: Request, hit: PrefixHit) -> None:
        """Takes over the blocks of a hit; the request holds none yet."""
        assert request.request_id not in self._tables, f"{request.request_id} holds blocks already"
        tables = []
        for group, blocks in zip(self._groups, hit.block_ids, strict=True):
            group.pool.touch(blocks)
            dropped = min(group.manager.first_kept_block(hit.num_tokens), len(blocks))
            tables.append(GroupTable(list(blocks), num_dropped=dropped, num_stored=len(blocks)))
        self._tables[request.request_id] = RequestTables(tuple(tables), self._generation)

    def allocate(self, request: Request, num_tokens: int) -> tuple[list[int], ...] | None:
        """Makes room for tokens up to ``num_tokens``. Blocks that the next token to compute cannot see are dropped.

        Where ``request.num_computed_tokens`` is ahead of its blocks, because a connector brings the tokens between, the
        list is filled up: with the null block as far as those tokens are not seen any more.

        Returns:
            The block ids appended to each group's list; None: too few are free, nothing was taken.
        """
        tables = self._tables[request.request_id].groups
        counts: list[int] = []
        for group, table in zip(self._groups, tables, strict=True):
            first_kept = group.manager.first_kept_block(request.num_computed_tokens)
            if first_kept > table.num_dropped:
                group.pool.release(table.drop_before(first_kept))
                self._tables[request.request_id].changed()
            counts.append(max(0, group.manager.num_blocks(num_tokens) - len(table.block_ids)))
        if not any(counts):  # most steps: the last block has room
            return tuple([] for _ in counts)
        if not self.capacity.has_free(counts):
            return None
        self._tables[request.request_id].changed()
        added = []
        for group, table, count in zip(self._groups, tables, counts, strict=True):
            blocks = group.pool.allocate(count)
            table.block_ids.extend(blocks)
            added.append(blocks)
        return tuple(added)

    def store(self, request: Request, num_tokens: int) -> None:
        """Enters full blocks in the prefix index.

        Args:
            request: Holds the blocks.
            num_tokens: Tokens that are known and whose keys and values have been computed, by steps that have ended.
        """
        tables = self._tables[request.request_id]
        if not self.caching or tables.generation != self._generation:
            return
        for place, (group, table) in enumerate(zip(self._groups, tables.groups, strict=True)):
            count = min(num_tokens // group.block_size, len(table.block_ids))
            if count <= table.num_stored:
                continue
            keys = self._chain(request, group.block_size).upto(request.token_ids, count)
            stored = [
                index
                for index in range(max(table.num_stored, table.num_dropped), count)
                if group.pool.store(keys[index], table.block_ids[index])
            ]
            table.num_stored = count
            if stored and self._log.enabled:
                self._tell(request, place, keys, stored)

    def free(self, request: Request) -> None:
        """Gives all blocks of a request back; what the prefix index has of them stays there until it is evicted."""
        tables = self._tables.pop(request.request_id, None)
        if tables is None:
            return
        for group, table in zip(self._groups, tables.groups, strict=True):
            group.pool.release(table.block_ids)

    def forget(self, request: Request) -> None:
        """The request has ended."""
        self.free(request)
        self._chains.pop(request, None)

    def reset_prefix_cache(self) -> None:
        """Forgets all prefixes. Blocks that running requests hold now are never entered again."""
        self._generation += 1
        for group in self._groups:
            group.pool.clear_prefixes()
        self._log.add(AllBlocksCleared())

    def take_events(self) -> list[CacheEvent]:
        """What entered or left the prefix index since the last call, oldest first."""
        return self._log.take()

    def check(self) -> None:
        """Verifies pools, references and block lists against each other.

        Raises:
            AssertionError: naming what is wrong.
        """
        for index, group in enumerate(self._groups):
            group.pool.check()
            counts = [0] * group.pool.num_blocks
            for hold in self._held:
                for block in hold.block_ids[index]:
                    counts[block] += 1
            for request_id, tables in self._tables.items():
                held = tables.groups[index].held
                assert NULL_BLOCK not in held, f"{request_id} holds the null block in group {index}"
                assert len(set(held)) == len(held), f"{request_id} holds a block twice in group {index}"
                for block in held:
                    counts[block] += 1
            for block in range(1, group.pool.num_blocks):
                have = group.pool.references(block)
                holders = counts[block]
                assert have == holders, f"block {block} of group {index}: {have} references, {holders} holders"

    # --- inside ----------------------------------------------------------------------------------

    def _chain(self, request: Request, block_size: int) -> KeyChain:
        chains = self._chains.setdefault(request, {})
        if block_size not in chains:
            chains[block_size] = KeyChain(request.data, block_size)
        return chains[block_size]

    def _tell(self, request: Request, place: int, keys: Sequence[BlockKey], stored: Sequence[int]) -> None:
        """Notes what a group's index took up: an event for each run of blocks that follow each other."""
        size = self._groups[place].block_size
        first = 0
        for last, index in enumerate(stored):
            if last + 1 < len(stored) and stored[last + 1] == index + 1:
                continue
            start, end = stored[first], index + 1
            extras = [tuple(block_extras(request.data, at * size, (at + 1) * size)) for at in range(start, end)]
            self._log.add(
                BlockStored(
                    group=place,
                    keys=tuple(keys[start:end]),
                    parent=keys[start - 1] if start else ROOT,
                    token_ids=tuple(request.token_ids[start * size : end * size]),
                    block_size=size,
                    extras=tuple(extras) if any(extras) else (),
                )
            )
            first = last + 1

    def _find(self, request: Request, group: CacheGroupState, num_blocks: int) -> list[int | None]:
        keys = self._chain(request, group.block_size).upto(request.token_ids, num_blocks)
        return [group.pool.index.get(key) for key in keys[:num_blocks]]

    def _agree(self, found: Sequence[Sequence[int | None]], most: int) -> int:
        """The largest number of tokens that every group can start after: groups shorten it in turn until none does."""
        present = [[block is not None for block in blocks] for blocks in found]
        tokens = most // self._alignment * self._alignment
        while tokens:
            shortest = tokens
            for group, there in zip(self._groups, present, strict=True):
                shortest = min(
                    shortest, group.manager.longest_hit(there, shortest // group.block_size) * group.block_size
                )
            shortest = shortest // self._alignment * self._alignment
            if shortest == tokens:
                break
            tokens = shortest
        return tokens
