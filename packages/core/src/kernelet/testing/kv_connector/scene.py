"""Engines that share one connector, and how tokens get from one into the other."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kernelet.contracts.kv import KVConnectorOffer, Ticket
from kernelet.testing.kv_connector.held import Held
from kernelet.testing.kv_connector.pages import plain_layout
from kernelet.testing.kv_connector.requests import IDENTITY
from kernelet.testing.kv_connector.rig import Rig
from kernelet.testing.offered import Offered
from kernelet.testing.verdict import check

FOUND = "what was computed must be found again, all of it"


@dataclass(frozen=True, kw_only=True)
class KVConnectorCapabilities:
    """What a connector promises beyond the contract.

    Attributes:
        keeps: What was computed is found by any later request. False: a request hands it to another one, through
            ``kv_transfer_params``.
        chunk: What is found ends at a multiple of so many tokens.
        shared: Engines that have the same settings find what the others saved.
        persistent: What was saved is found after a restart.
        world_sizes: Numbers of ranks.
        dtypes: Dtypes of keys and values, and of their scales, if any.
        producer_params: ``kv_transfer_params`` of a request that hands over.
        examples: Random examples of a test.
        patience: Seconds after which what has not come never will.
    """

    keeps: bool = True
    chunk: int = 1
    shared: bool = False
    persistent: bool = False
    world_sizes: tuple[int, ...] = (1, 2)
    dtypes: tuple[tuple[str, str], ...] = (("float32", ""), ("bfloat16", ""), ("float8_e4m3fn", "float32"))
    producer_params: Mapping[str, Any] = field(default_factory=dict)
    examples: int = 15
    patience: float = 20.0


class Scene:
    """Makes engines, and ends them."""

    def __init__(self, offered: Offered[KVConnectorOffer], capabilities: KVConnectorCapabilities) -> None:
        self._offered, self._capabilities = offered, capabilities
        self._numbers = itertools.count(1)
        self._rigs: list[Rig] = []

    def rig(self, world_size: int = 1, role: str = "both", identity: Any = IDENTITY, **layout: Any) -> Rig:
        """An engine; ``layout`` is for ``plain_layout``."""
        layouts = [[plain_layout(rank=rank, world_size=world_size, **layout)] for rank in range(world_size)]
        rig = Rig(
            self._offered,
            layouts,
            identity=identity,
            role=role,
            engine_id=f"kit-{len(self._rigs)}",
            patience=self._capabilities.patience,
            numbers=self._numbers.__next__,
        )
        rig.beside = [other for other in self._rigs if not self._capabilities.keeps]
        for other in rig.beside:
            other.beside.append(rig)
        self._rigs.append(rig)
        return rig

    def pair(self, **fields: Any) -> tuple[Rig, Rig]:
        """An engine that computes and one that finds: the same, where a connector keeps and does not share."""
        if self._capabilities.keeps and not self._capabilities.shared:
            return (self.rig(**fields),) * 2
        roles = ("both", "both") if self._capabilities.keeps else ("producer", "consumer")
        source, sink = (self.rig(**{"role": role, **fields}) for role in roles)
        return source, sink

    def put(
        self, rig: Rig, tokens: Sequence[int], chunk: int = 0, asks: int = 1, **facts: Any
    ) -> Mapping[str, Any] | None:
        """A request that computes all its tokens and ends; returns what another one says to find them."""
        held = rig.add(tokens, self._capabilities.producer_params or None, **facts)
        if rig.ask(held, asks) is not None:
            rig.scheduler.abort(held.request)
        rig.prefill(held, chunk)
        answer = rig.finish(held).kv_transfer_params
        if self._capabilities.keeps:
            return None
        check(answer, "request_finished() must say in kv_transfer_params how another engine finds the blocks")
        return answer

    def find(
        self,
        rig: Rig,
        tokens: Sequence[int],
        params: Mapping[str, Any] | None,
        known: int,
        asks: int = 1,
        sentence: str = FOUND,
        **facts: Any,
    ) -> tuple[Held, Ticket]:
        """A request that is promised the first ``known`` tokens; what is saved may take a while to be seen.

        Raises:
            ConformanceError: it never is.
        """
        known -= known % self._capabilities.chunk
        more = rig.patient()
        while True:
            held = rig.add(tokens, params, **facts)
            ticket = rig.ask(held, asks)
            if ticket is not None and ticket.num_tokens >= known:
                return held, ticket
            check(more(), sentence)
            if ticket is not None:
                rig.scheduler.abort(held.request)
            rig.finish(held)
            for other in self._rigs:
                if other is not rig and other.open:
                    other.step()  # an engine makes steps while a transfer is open
            rig.wait()

    def misses(
        self, rig: Rig, tokens: Sequence[int], params: Mapping[str, Any] | None, sentence: str, **facts: Any
    ) -> None:
        """A request finds nothing.

        Raises:
            ConformanceError: with the sentence, where it is promised something and gets it.
        """
        held = rig.add(tokens, params, **facts)
        ticket = rig.ask(held)
        if ticket is not None:
            check(not self._capabilities.keeps, sentence)
            number = rig.start_load(held, ticket)
            rig.until(lambda: number not in rig.open, "a load that cannot succeed must be confirmed with 0 tokens")
            check(rig.over[number] == 0, sentence)
        rig.finish(held)

    def restart(self, rig: Rig, **fields: Any) -> Rig:
        """The engine stops, and another one starts."""
        rig.close()
        self._rigs.remove(rig)
        return self.rig(**fields)

    def close(self) -> None:
        """Ends all engines."""
        for rig in self._rigs:
            rig.close()
