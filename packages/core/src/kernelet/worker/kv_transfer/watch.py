"""Layers that say when they read their pages, and when they have written them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from kernelet.contracts.model import AttentionLayer
from kernelet.layers.attention import LayerWatch
from kernelet.worker.kv_transfer.sides import WorkerSides

T = TypeVar("T")


class Watch(LayerWatch):
    """Calls connectors around each layer; around the whole pass for layers that say nothing.

    Which do is seen in a first pass: an op may compute a layer in a way that does not know of this.

    Args:
        sides: Is called.
        layers: All that have pages.
    """

    def __init__(self, sides: WorkerSides, layers: Sequence[AttentionLayer]) -> None:
        self._sides = sides
        self._able = [layer for layer in layers if hasattr(layer, "watch")]
        self._all = self._silent = tuple(layer.name for layer in layers)
        self._speaks: frozenset[str] = frozenset()
        self._read: set[str] = set()
        self._written: set[str] = set()

    def attach(self, first_pass: Callable[[], object]) -> None:
        """Asks layers to call, if a connector wants to be called.

        Args:
            first_pass: Computes something with all layers.
        """
        if not (self._sides.waits or self._sides.saves):
            return
        for layer in self._able:
            layer.watch = self
        first_pass()
        self._speaks = frozenset(self._read & self._written)
        self._silent = tuple(name for name in self._silent if name not in self._speaks)

    def detach(self) -> None:
        """Layers call nobody any more."""
        for layer in self._able:
            layer.watch = None

    def before(self, layer: str) -> None:
        self._read.add(layer)
        if layer in self._speaks:
            self._sides.wait_for((layer,))

    def after(self, layer: str) -> None:
        self._written.add(layer)
        if layer in self._speaks:
            self._sides.save((layer,))

    def around(self, compute: Callable[[], T], *, whole: bool = False) -> T:
        """Computes a pass.

        Args:
            compute: Computes it.
            whole: It is replayed: layers have no say, and connectors are called around all of them.

        Raises:
            RuntimeError: a layer says nothing that did in the first pass.
        """
        if whole:
            return self._around_all(compute)
        self._read.clear()
        self._written.clear()
        self._sides.wait_for(self._silent)
        computed = compute()
        if not self._speaks <= self._read & self._written:
            missing = ", ".join(sorted(self._speaks - (self._read & self._written)))
            raise RuntimeError(f"{missing}: computed by an op that calls AttentionLayer.watch in some steps only")
        self._sides.save(self._silent)
        return computed

    def _around_all(self, compute: Callable[[], T]) -> T:
        self._sides.wait_for(self._all)
        speaks, self._speaks = self._speaks, frozenset()
        try:
            computed = compute()
        finally:
            self._speaks = speaks
        self._sides.save(self._all)
        return computed
