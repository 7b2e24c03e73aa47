"""Which grammar engine serves a constraint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from kernelet.contracts.structured import GrammarEngineOffer


class EngineBounds(msgspec.Struct, frozen=True, kw_only=True):
    """What an engine's offer says of it, for the process that has the rules."""

    name: str
    recursion: bool = True
    max_repeat: int | None = None
    max_expressions: int | None = None

    @classmethod
    def of(cls, offer: GrammarEngineOffer) -> EngineBounds:
        """Of an offer."""
        return cls(
            name=offer.name,
            recursion=offer.recursion,
            max_repeat=offer.max_repeat,
            max_expressions=offer.max_expressions,
        )

    def offer(self) -> GrammarEngineOffer:
        """An offer with these bounds and nothing else."""
        return GrammarEngineOffer(
            name=self.name,
            target="",
            recursion=self.recursion,
            max_repeat=self.max_repeat,
            max_expressions=self.max_expressions,
        )


@dataclass(frozen=True, kw_only=True)
class EngineChoice:
    """Who serves a constraint.

    Attributes:
        name: None: nobody.
        others: Who may, in their order, where that one fails; empty where it was named.
        reason: Why not, where nobody does.
    """

    name: str | None
    others: tuple[str, ...] = ()
    reason: str = ""


def in_order(offers: Sequence[GrammarEngineOffer]) -> list[GrammarEngineOffer]:
    """Best first: by priority, then by name, so that every process of an engine decides alike."""
    return sorted(offers, key=lambda offer: (-offer.priority, offer.name))


def choose(named: str | None, offers: Sequence[GrammarEngineOffer], unfit: Mapping[str, str]) -> EngineChoice:
    """The engine of a constraint: the named one, else the best whose bounds hold its rules.

    Args:
        named: By the request or the operator.
        offers: At least one; ``named`` is among them.
        unfit: Why an engine does not enforce it, by name.
    """
    fitting = [offer.name for offer in in_order(offers) if offer.name not in unfit]
    if named is None and fitting:
        return EngineChoice(name=fitting[0], others=tuple(fitting[1:]))
    if named is None:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in sorted(unfit.items()))
        return EngineChoice(name=None, reason=f"no installed grammar engine enforces it ({reasons})")
    if named not in unfit:
        return EngineChoice(name=named)
    others = f"it is enforced by {', '.join(fitting)}" if fitting else "no other that is installed does"
    return EngineChoice(name=None, reason=f"the grammar engine {named!r} does not enforce it: {unfit[named]}; {others}")
