"""Which chunks there are, in memory and on disk: the scheduler side's book, which the ranks follow."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kernelet.contracts.cache import EvictionPolicy
from kernelet_kv_offload.slots import Slots


@dataclass(eq=False)
class Chunk:
    """A chunk that is stored, or is being stored.

    Attributes:
        key: Names it.
        slot: Its memory, the same on each rank; 0: none.
        filled: Whether every rank has it there.
        pins: Transfers that need it to stay.
        ranks: Bit r: rank r has it on disk.
    """

    key: bytes
    slot: int = 0
    filled: bool = False
    pins: int = 0
    ranks: int = 0


class Index:
    """Chunks by key; slots 1 to ``num_slots`` of memory, of which the policy has those that hold a chunk unpinned."""

    def __init__(self, num_slots: int, world_size: int, policy: EvictionPolicy) -> None:
        self.evictions = 0
        self._num_slots = num_slots
        self._all_ranks = (1 << world_size) - 1
        self._policy = policy
        self._free = Slots(num_slots)
        self._held: dict[int, Chunk] = {}
        self._chunks: dict[bytes, Chunk] = {}

    def __len__(self) -> int:
        return len(self._chunks)

    @property
    def num_free(self) -> int:
        """Slots that ``take`` could give."""
        return len(self._free) + len(self._policy)

    def find(self, key: bytes) -> Chunk | None:
        """A chunk that can be loaded."""
        chunk = self._chunks.get(key)
        return chunk if chunk is not None and (chunk.filled or self._on_disk(chunk)) else None

    def holds(self, key: bytes) -> bool:
        """Whether there is nothing to save: the chunk can be loaded, or is just being saved."""
        chunk = self._chunks.get(key)
        return chunk is not None and (chunk.slot > 0 or self._on_disk(chunk))

    def pin(self, chunk: Chunk) -> None:
        """Keeps a chunk where it is."""
        if chunk.pins == 0 and chunk.filled:
            self._policy.remove(chunk.slot)
        chunk.pins += 1

    def unpin(self, chunks: Iterable[Chunk]) -> None:
        """Takes a pin from each; of chunks of one prefix the last come first, so that they go first."""
        for chunk in chunks:
            chunk.pins -= 1
            if chunk.pins > 0:
                continue
            if chunk.filled and self._chunks.get(chunk.key) is chunk:
                self._policy.add(chunk.slot)
            else:
                self._vacate(chunk)

    def take(self, key: bytes) -> Chunk | None:
        """Gives a chunk that has none a slot, unfilled, and pins it; None: all slots are in use."""
        chunk = self._chunks.get(key) or Chunk(key)
        chunk.pins += 1
        if not self.give_slot(chunk):
            chunk.pins -= 1
            return None
        self._chunks[key] = chunk
        return chunk

    def give_slot(self, chunk: Chunk) -> bool:
        """Gives a pinned chunk a slot, unfilled; False: all are in use."""
        if not self.num_free:
            return False
        if len(self._free):
            slot = self._free.take()
        else:
            slot = self._policy.evict()
            evicted = self._held.pop(slot)
            evicted.slot, evicted.filled = 0, False
            self._drop_empty(evicted)
            self.evictions += 1
        chunk.slot = slot
        self._held[slot] = chunk
        self._policy.assign(slot, chunk.key)
        return True

    def at(self, slot: int) -> Chunk:
        """The chunk that has a slot."""
        return self._held[slot]

    def fill(self, chunk: Chunk) -> None:
        """Every rank has the chunk in its slot; it is pinned."""
        chunk.filled = True

    def leave(self, chunk: Chunk) -> None:
        """A pinned chunk did not come into its slot, which is free again."""
        self._free_slot(chunk)

    def found(self, rank: int, keys: Iterable[bytes]) -> None:
        """A rank has chunks on disk."""
        for key in keys:
            self._chunks.setdefault(key, Chunk(key)).ranks |= 1 << rank

    def lost(self, rank: int, keys: Iterable[bytes]) -> None:
        """A rank has them no more."""
        for key in keys:
            chunk = self._chunks.get(key)
            if chunk is not None:
                chunk.ranks &= ~(1 << rank)
                self._drop_empty(chunk)

    def clear(self) -> None:
        """Nothing is found any more; slots of pinned chunks are free once they are unpinned."""
        chunks, self._chunks = self._chunks, {}
        for chunk in chunks.values():
            chunk.ranks = 0
            if chunk.slot and chunk.pins == 0:
                self._policy.remove(chunk.slot)
                self._vacate(chunk)

    def check(self) -> None:
        """Verifies that each slot is in one state.

        Raises:
            AssertionError: naming what is wrong.
        """
        assert len(self._free) == self._num_slots - len(self._held), "slots are lost, or free and held"
        for slot, chunk in self._held.items():
            assert chunk.slot == slot, f"slot {slot} is held by a chunk that has {chunk.slot}"
        unpinned = [chunk for chunk in self._held.values() if chunk.pins == 0]
        assert len(unpinned) == len(self._policy), f"{len(unpinned)} can be evicted, {len(self._policy)} would be"
        assert all(chunk.filled for chunk in unpinned), "a slot is empty and not free"

    def _on_disk(self, chunk: Chunk) -> bool:
        return chunk.ranks == self._all_ranks

    def _vacate(self, chunk: Chunk) -> None:
        if chunk.slot:
            self._free_slot(chunk)
        self._drop_empty(chunk)

    def _free_slot(self, chunk: Chunk) -> None:
        del self._held[chunk.slot]
        self._free.give_back(chunk.slot)
        chunk.slot, chunk.filled = 0, False

    def _drop_empty(self, chunk: Chunk) -> None:
        if not (chunk.slot or chunk.ranks or chunk.pins) and self._chunks.get(chunk.key) is chunk:
            del self._chunks[chunk.key]
