"""The engines: which of them are up, how busy each is, what it has cached, and which one takes a request."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from kernelet_router_prefix.blocks import CachedBlocks, PromptKeys
from kernelet_router_prefix.errors import RouterError
from kernelet_router_prefix.settings import RouterSettings


@dataclass(eq=False)
class Engine:
    """One engine.

    Attributes:
        url: Its address.
        role: ``"engine"``, ``"prefill"`` or ``"decode"``.
        up: Whether it takes requests, as far as is known.
        detail: Why it does not.
        open: Requests that it works on for this router.
        requests: Requests that it was sent.
        cached_tokens: Prompt tokens of those that it had cached, as far as was known.
        blocks: What it has cached.
        publishes: Whether that is heard of.
    """

    url: str
    role: str
    up: bool = False
    detail: str = "it was not looked at yet"
    open: int = 0
    requests: int = 0
    cached_tokens: int = 0
    publishes: bool = False
    blocks: CachedBlocks = field(default_factory=CachedBlocks)

    def down(self, reason: str) -> None:
        """It cannot be used until the next look says otherwise."""
        self.up, self.detail = False, reason

    @contextmanager
    def working(self) -> Iterator[None]:
        """While it works on a request."""
        self.open += 1
        self.requests += 1
        try:
            yield
        finally:
            self.open -= 1

    def facts(self) -> dict[str, object]:
        """For people."""
        return {
            "url": self.url,
            "role": self.role,
            "up": self.up,
            "detail": "" if self.up else self.detail,
            "open_requests": self.open,
            "requests": self.requests,
            "kv_events": self.publishes,
            "cached_blocks": len(self.blocks),
            "cached_tokens": self.cached_tokens,
        }


class Fleet:
    """All engines.

    Args:
        settings: Their addresses, and how far a prefix outweighs work.
    """

    def __init__(self, settings: RouterSettings) -> None:
        self._max_imbalance = settings.max_imbalance
        self._turns = {role: itertools.count() for role in settings.engines}
        self.engines = tuple(Engine(url, role) for role, urls in settings.engines.items() for url in urls)
        self.roles = tuple(settings.engines)

    def of(self, role: str) -> list[Engine]:
        """Those of a role."""
        return [engine for engine in self.engines if engine.role == role]

    def missing(self) -> list[str]:
        """Roles of which no engine is up."""
        return [role for role in self.roles if not any(engine.up for engine in self.of(role))]

    def knows_prefixes(self, role: str) -> bool:
        """Whether a prompt's tokens would tell anything."""
        return any(engine.up and len(engine.blocks) for engine in self.of(role))

    def choose(self, role: str, prompt: PromptKeys | None, tried: Collection[Engine] = ()) -> Engine:
        """The engine that has most of a prompt cached, unless it has much more to do than others; else the idlest.

        Args:
            role: What it is to do.
            prompt: None: nothing is known of it.
            tried: Engines that could not do it.

        Raises:
            RouterError: 503: there is none, or none is left.
        """
        able = [engine for engine in self.of(role) if engine.up and engine not in tried]
        if not able:
            reasons = "; ".join(f"{engine.url}: {engine.detail}" for engine in self.of(role))
            what = "" if role == "engine" else f"{role} "
            raise RouterError(503, f"no {what}engine can be used now: {reasons}", "no_engine")
        least = min(engine.open for engine in able)
        cached = {engine: engine.blocks.longest(prompt) if prompt else 0 for engine in able}
        fair = [engine for engine in able if engine.open - least <= self._max_imbalance]
        turn = next(self._turns[role])
        order = sorted(range(len(fair)), key=lambda place: (place - turn) % len(fair))
        chosen = fair[min(order, key=lambda place: (-cached[fair[place]], fair[place].open))]
        chosen.cached_tokens += cached[chosen]
        return chosen
