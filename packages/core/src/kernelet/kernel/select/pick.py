"""The rule that all selections share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from kernelet.contracts.offer import Offer
from kernelet.contracts.plugins import Choice, Owned
from kernelet.errors import SelectionError
from kernelet.kernel.allow import close_to
from kernelet.kernel.kinds import Kind
from kernelet.kernel.record import Record

O = TypeVar("O", bound=Offer)  # noqa: E741 - for Offer


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is being selected, for messages.

    Attributes:
        kind: The row of the table of kinds.
        records: All plugins, so that an error can name those that were left out.
        purpose: What the offer is for, e.g. ``"layers of kind sliding"``; empty: nothing special.
        how: How to name one, where it is not the kind's flag.
    """

    kind: Kind
    records: Sequence[Record] = field(default=(), repr=False)
    purpose: str = ""
    how: str = ""

    @property
    def what(self) -> str:
        return f"{self.kind.label} for {self.purpose}" if self.purpose else self.kind.label

    @property
    def advice(self) -> str:
        """How to name one."""
        how = self.how or self.kind.how_to_name
        return f" Name one: {how}." if how else ""


def by_name(request: Request, offers: Sequence[Owned[O]], name: str) -> Owned[O]:
    """The offer of that name, or that claims it.

    Raises:
        SelectionError: there is none; lists the choices and the plugins that do not run.
    """
    for owned in offers:
        if name in {owned.offer.name, *request.kind.claims(owned.offer)}:
            return owned
    near = close_to(name, [owned.offer.name for owned in offers])
    how = request.kind.how_to_get
    get = "" if near else f" For another, {how}." if offers else f" {how[0].upper()}{how[1:]}."
    raise SelectionError(
        f"No {request.kind.label} is named {name!r}{near}. Choices: {listed(offers)}.{get}{left_out(request)}"
    )


def best(
    request: Request,
    fitting: Sequence[Owned[O]],
    refused: Mapping[str, str],
    rank: Mapping[str, Sequence[float]] | None = None,
) -> Choice[O]:
    """The single best of those that fit.

    Args:
        request: What is selected.
        fitting: Offers that could serve.
        refused: Why the others could not, by offer name.
        rank: Sort key by offer name, larger wins; without it the offer's priority.

    Raises:
        SelectionError: nothing fits, or several are equally good.
    """
    if not fitting:
        reasons = "".join(f"\n  {name}: {reason}" for name, reason in sorted(refused.items()))
        missing = f"No {request.what} can be used" if refused else f"No plugin offers a {request.what}"
        raise SelectionError(f"{missing}.{reasons}{left_out(request)}")
    key = {o.offer.name: tuple((rank or {}).get(o.offer.name, (o.offer.priority,))) for o in fitting}
    ordered = sorted(fitting, key=lambda o: key[o.offer.name], reverse=True)
    winner = ordered[0]
    equal = [owned for owned in ordered if key[owned.offer.name] == key[winner.offer.name]]
    if len(equal) > 1:
        raise SelectionError(f"Several are equally good as {request.what}: {listed(equal)}.{request.advice}")
    outranked = {
        owned.offer.name: f"{winner.offer.name} comes first ({_text(key, winner)} against {_text(key, owned)})"
        for owned in ordered[1:]
    }
    reason = "the only one that fits" if len(fitting) == 1 else f"the best of {len(fitting)} that fit"
    return Choice(chosen=winner, reason=reason, refused={**refused, **outranked})


def _text(key: Mapping[str, Sequence[float]], owned: Owned[O]) -> str:
    return "/".join(f"{value:g}" for value in key[owned.offer.name])


def select(request: Request, offers: Sequence[Owned[O]], name: str | None) -> Choice[O]:
    """Named, else the highest priority."""
    if name is None:
        return best(request, offers, {})
    chosen = by_name(request, offers, name)
    refused = {owned.offer.name: f"{name} was named" for owned in offers if owned is not chosen}
    return Choice(chosen=chosen, reason="named", refused=refused)


def listed(offers: Sequence[Owned[O]]) -> str:
    """``name (plugin)`` of each."""
    return ", ".join(f"{owned.offer.name} ({owned.plugin})" for owned in offers) or "none"


def left_out(request: Request) -> str:
    """Plugins that do not run and might have offered it, with the reason."""
    lines = [
        f"\n  {record.name} {record.state}: {record.reason}"
        for record in request.records
        if not record.active and record.may_offer(request.kind.domain)
    ]
    lines += [
        f"\n  {record.name}'s {offer.name}: {inactive}"
        for record in request.records
        if record.active
        for kind, offer, inactive in record.offers
        if inactive and kind is request.kind
    ]
    return f"\nPlugins that are not active:{''.join(lines)}" if lines else ""
