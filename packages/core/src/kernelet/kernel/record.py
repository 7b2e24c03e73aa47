"""What the kernel knows of one plugin while it boots and runs."""

from __future__ import annotations

from dataclasses import dataclass, field

from kernelet.contracts.offer import NO_OPTIONS, Offer, Schema
from kernelet.kernel.content import content_hash
from kernelet.kernel.discovery import Candidate
from kernelet.kernel.failure import Failure
from kernelet.kernel.kinds import Kind
from kernelet.kernel.report import OfferReport, PluginReport, State


@dataclass(frozen=True, kw_only=True)
class Remark:
    """What became of one offer after it was registered."""

    state: State
    reason: str
    failure: Failure | None = None


@dataclass(kw_only=True)
class Record:
    """A plugin's state; changed by the kernel only.

    Attributes:
        candidate: What was discovered.
        state: What became of it so far.
        reason: Why.
        fix: What to do about it.
        failure: What it raised.
        plugin: The imported plugin.
        hooks: Names of the hooks that it implements.
        schema: Its options.
        offers: All its offers, each with the reason why it is not active, or an empty text.
        remarks: What is known of single offers, by (domain, name): what a platform's probe said, say.
        deprecated: What it uses that goes away, one line each.
        content: Hash of its files, once somebody asked.
    """

    candidate: Candidate
    state: State = State.ACTIVE
    reason: str = ""
    fix: str = ""
    failure: Failure | None = None
    plugin: object | None = None
    hooks: frozenset[str] = frozenset()
    schema: Schema = field(default_factory=lambda: NO_OPTIONS)
    offers: list[tuple[Kind, Offer, str]] = field(default_factory=list)
    remarks: dict[tuple[str, str], Remark] = field(default_factory=dict)
    deprecated: list[str] = field(default_factory=list)
    content: str | None = None

    def content_hash(self) -> str:
        """Hash of its files, read once."""
        if self.content is None:
            plugin = self.candidate.instance if self.plugin is None else self.plugin
            self.content = content_hash(self.candidate, plugin)
        return self.content

    @property
    def name(self) -> str:
        return self.candidate.name

    @property
    def active(self) -> bool:
        """Whether its hooks are registered."""
        return self.plugin is not None and self.state is State.ACTIVE

    def refuse(self, state: State, reason: str, fix: str = "", failure: Failure | None = None) -> None:
        """Notes that the plugin does not run."""
        self.state, self.reason, self.fix, self.failure = state, reason, fix, failure

    def may_offer(self, domain: str) -> bool:
        """Whether it could have offered something in a domain: its metadata or its hooks say so, or say nothing."""
        domains = self.candidate.domains
        return domain in domains or (not domains and not self.hooks)

    def message(self) -> str:
        """Plugin, reason and what to do, for errors and warnings."""
        return f"{self.candidate} {self.state}: {self.reason}" + (f". To do: {self.fix}" if self.fix else "")

    def report(self) -> PluginReport:
        """The row for people."""
        offers = tuple(self._offer_report(*entry) for entry in self.offers)
        state, reason, failure = self.state, self.reason, self.failure
        if self.active and offers and all(offer.state is State.BLOCKED for offer in offers):
            state, reason = State.BLOCKED, offers[0].reason
        elif self.active and (remark := self._platform_remark()):
            state, reason, failure = remark.state, remark.reason, remark.failure
        candidate = self.candidate
        return PluginReport(
            name=candidate.name,
            distribution=candidate.distribution,
            version=candidate.version,
            entry_point=candidate.entry_point,
            path=candidate.path,
            state=state,
            reason=reason,
            fix=self.fix,
            offers=offers,
            trace=failure.trace if failure else "",
            deprecated=tuple(self.deprecated),
        )

    def _platform_remark(self) -> Remark | None:
        """What its platforms' probes said, if none of them is available: failures first."""
        keys = [(kind.domain, offer.name) for kind, offer, _ in self.offers if kind.domain == "platform"]
        remarks = [self.remarks[key] for key in keys if key in self.remarks]
        if len(remarks) < len(keys) or any(remark.state is State.ACTIVE for remark in remarks):
            return None
        return min(remarks, key=lambda remark: remark.state is not State.FAILED, default=None)

    def _offer_report(self, kind: Kind, offer: Offer, inactive: str) -> OfferReport:
        remark = self.remarks.get((kind.domain, offer.name))
        state, reason = (remark.state, remark.reason) if remark else (State.ACTIVE, "")
        if inactive:
            state, reason = State.BLOCKED, inactive
        if not self.active:
            state, reason = self.state, self.reason
        return OfferReport(
            domain=kind.domain,
            kind=kind.label,
            name=offer.name,
            state=state,
            reason=reason,
            summary=offer.summary,
            scope=kind.scope,
        )
