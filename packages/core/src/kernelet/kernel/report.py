"""What became of each plugin: the rows of ``kernelet plugins list`` and ``show``."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class State(StrEnum):
    """What became of a plugin or an offer."""

    ACTIVE = "active"
    DECLINED = "declined"
    FAILED = "failed"
    BLOCKED = "blocked"
    INCOMPATIBLE = "incompatible"


OPT_IN = "opt-in and not named"
"""How the reason of a blocked offer starts that would run if it were named."""


@dataclass(frozen=True, kw_only=True)
class OfferReport:
    """One offer of a plugin.

    Attributes:
        domain: Its contract domain.
        kind: What people call it, e.g. ``"eviction policy"``.
        name: Its own name.
        state: Active, declined (a platform that is not here), blocked (opt-in and not named) or failed.
        reason: Why, where it is not plainly active.
        summary: The plugin's own line about it.
        scope: What stands before its name, where it is not the domain.
    """

    domain: str
    kind: str
    name: str
    state: State = State.ACTIVE
    reason: str = ""
    summary: str = ""
    scope: str = ""

    def __str__(self) -> str:
        return f"{self.scope or self.domain}:{self.name}"


@dataclass(frozen=True, kw_only=True)
class PluginReport:
    """One plugin.

    Attributes:
        name: The entry point's name.
        distribution: Where it comes from; empty for one that was handed to this process.
        version: The distribution's version.
        entry_point: The entry point's value.
        path: Folder of the metadata.
        state: What became of it.
        reason: One line that says why.
        fix: What to do about it, where something should be done.
        offers: Its offers, those that are not active too.
        trace: The traceback of a failure.
        deprecated: What it uses that goes away, one line each.
    """

    name: str
    distribution: str
    version: str
    entry_point: str
    path: str
    state: State
    reason: str = ""
    fix: str = ""
    offers: tuple[OfferReport, ...] = ()
    trace: str = ""
    deprecated: tuple[str, ...] = ()

    def row(self) -> dict[str, Any]:
        """The object of ``plugins list --json``; ``offers`` are ``"domain:name"``."""
        return {
            "name": self.name,
            "distribution": self.distribution,
            "version": self.version,
            "state": str(self.state),
            "reason": f"{self.reason}; {self.fix}" if self.fix else self.reason,
            "offers": [str(offer) for offer in self.offers],
        }

    def details(self) -> dict[str, Any]:
        """The object of ``plugins show NAME --json``: the row, where it is, each offer's state, and the traceback."""
        offers = [asdict(offer) | {"state": str(offer.state)} for offer in self.offers]
        for offer in offers:
            del offer["scope"]  # the kind tells
        extra = {"entry_point": self.entry_point, "path": self.path, "fix": self.fix, "traceback": self.trace}
        lists = {"offers": offers, "deprecated": list(self.deprecated)}
        return self.row() | extra | {"reason": self.reason} | lists
