"""What the fake connector is to do, and what it did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle

from torch import Tensor

FOREVER = 1 << 40
"""So many steps never pass."""


@dataclass(frozen=True, kw_only=True)
class LoadScript:
    """How one lookup and its load go.

    Attributes:
        later: Steps in which it says LATER before it answers.
        promised: Share of the stored tokens that the ticket promises; 0: a miss.
        delivered: Share of the load that arrives; the rest of the load is garbage.
        sync: The ticket is a sync one.
        polls: Calls of ``get_finished`` before the load is confirmed.
        times: How often it is confirmed.
        stranger: It confirms a transfer that nobody knows, too.
        writes_after: It writes after it was cancelled, or after it was confirmed.
    """

    later: int = 0
    promised: float = 1.0
    delivered: float = 1.0
    sync: bool = False
    polls: int = 0
    times: int = 1
    stranger: bool = False
    writes_after: bool = False


@dataclass(frozen=True, kw_only=True)
class EndScript:
    """How one handover goes.

    Attributes:
        holds: It holds the blocks.
        polls: Calls of ``get_finished`` before it lets go.
        times: How often it says so.
    """

    holds: bool = False
    polls: int = 0
    times: int = 1


@dataclass
class Store:
    """Another place: by key of a token, and by rank and layer, the token's parts.

    Attributes:
        alive: Without it nothing is found, stored, or ever confirmed.
    """

    tokens: dict[bytes, dict[tuple[int, str], tuple[Tensor, ...]]] = field(default_factory=dict)
    alive: bool = True

    def put(self, key: bytes, rank: int, layer: str, parts: tuple[Tensor, ...]) -> None:
        """Stores a token; what is there stays."""
        if self.alive:
            self.tokens.setdefault(key, {}).setdefault((rank, layer), parts)

    def has(self, key: bytes, count: int) -> bool:
        """Whether so many layers of all ranks are there."""
        return self.alive and len(self.tokens.get(key, ())) == count

    def die(self) -> None:
        """The process that holds it is gone, and all that it held."""
        self.alive = False
        self.tokens.clear()

    def restart(self) -> None:
        """An empty one takes its place."""
        self.alive = True


class World:
    """What a fake connector shares with its test.

    Attributes:
        store: Where it saves.
        did: How often it did what, by the words of the scripts.
        raises: After how many calls a method raises, of the connectors in ``raising``.
        calls: How often each of their methods was called.
    """

    def __init__(
        self,
        loads: Sequence[LoadScript] = (),
        ends: Sequence[EndScript] = (),
        store: Store | None = None,
        raises: Mapping[str, int] | None = None,
    ) -> None:
        self.store = store or Store()
        self.did: Counter[str] = Counter()
        self.raises = dict(raises or {})
        self.calls: Counter[str] = Counter()
        self._loads: Iterator[LoadScript] = cycle(loads or [LoadScript()])
        self._ends: Iterator[EndScript] = cycle(ends or [EndScript()])

    def next_load(self) -> LoadScript:
        """The script of the next lookup."""
        return next(self._loads)

    def next_end(self) -> EndScript:
        """The script of the next request that ends."""
        return next(self._ends)
