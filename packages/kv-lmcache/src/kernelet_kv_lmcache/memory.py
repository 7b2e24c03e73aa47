"""Memory that a rank and its agent share: slots, each for one chunk."""

from __future__ import annotations

import mmap
import threading
import time
from collections.abc import Sequence

import torch
from torch import Tensor

from kernelet.contracts.kv import KVLayout
from kernelet_kv_lmcache.wire import Setup, num_slots


def token_bytes(layout: KVLayout) -> int:
    """Bytes of one token on this rank."""
    widths = sum(part.width * getattr(torch, part.dtype).itemsize for part in layout.parts)
    return len(layout.layers) * layout.num_kv_heads * int(widths)


class Slots:
    """Half of the slots are for loads and half for saves, so that neither waits for the other.

    A slot holds, layer by layer and part by part, [token, head, width] of one chunk.
    """

    def __init__(self, layout: KVLayout, setup: Setup, chunk: int, memory: int) -> None:
        count = num_slots(setup, chunk)
        self.chunk, self._layout = chunk, layout
        self._bytes = chunk * setup.token_bytes
        self._tensor = torch.frombuffer(mmap.mmap(memory, count * self._bytes), dtype=torch.uint8)
        self._free = {"load": list(range(count // 2)), "save": list(range(count // 2, count))}
        self._changed = threading.Condition()

    def take(self, kind: str, wanted: int, deadline: float) -> list[int]:
        """Some slots, at most ``wanted`` and at least one; none: the deadline, by ``time.monotonic``, has passed."""
        free = self._free[kind]
        with self._changed:
            while not free and (left := deadline - time.monotonic()) > 0:
                self._changed.wait(left)
            taken, free[:] = free[:wanted], free[wanted:]
            return taken

    def give(self, kind: str, slots: Sequence[int]) -> None:
        """Slots that nobody uses any more."""
        with self._changed:
            self._free[kind] += slots
            self._changed.notify_all()

    def parts(self, slot: int) -> dict[str, list[Tensor]]:
        """The parts of each layer: views of the shared memory."""
        at = slot * self._bytes
        found: dict[str, list[Tensor]] = {}
        for layer in self._layout.layers:
            parts = found[layer] = []
            for part in self._layout.parts:
                dtype: torch.dtype = getattr(torch, part.dtype)
                shape = (self.chunk, self._layout.num_kv_heads, part.width)
                size = self.chunk * self._layout.num_kv_heads * part.width * dtype.itemsize
                parts.append(self._tensor[at : at + size].view(dtype).view(shape))
                at += size
        return found
