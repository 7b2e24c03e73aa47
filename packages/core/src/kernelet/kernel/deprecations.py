"""Everything of the contracts that is deprecated, and the release that removes it.

A plugin that uses something of the table is told once: a line in the log of the process that starts the engine (for a
member of an interface: of the process that imports the class), and in its report.
``docs/deprecations.md`` is generated from the table.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from enum import StrEnum
from types import MappingProxyType

from kernelet.contracts.offer import Offer
from kernelet.contracts.versions import ApiVersion
from kernelet.kernel.record import Record

logger = logging.getLogger("kernelet.kernel")

CONTRACTS = "kernelet.contracts."


class Kind(StrEnum):
    """What can be deprecated, and how ``Deprecation.what`` is written for it."""

    HOOK = "hook"  # kernelet_executors
    PARAMETER = "parameter"  # kernelet_process_started.rank
    OFFER = "offer"  # ExecutorOffer
    FIELD = "field"  # PlatformOffer.communicator
    CONTRACT = "contract"  # v1
    MEMBER = "member"  # Device.capture


@dataclass(frozen=True, kw_only=True)
class Deprecation:
    """One thing that goes away.

    Attributes:
        kind: What it is.
        what: Its name, written as ``Kind`` says.
        domain: Its contract domain.
        replacement: What to use, as it follows "use"; or why nothing is needed.
        since: Version of the contract that deprecated it, e.g. ``"1.3"``.
        removed: Release of the core that removes it, e.g. ``"0.5"``.
    """

    kind: Kind
    what: str
    domain: str
    replacement: str
    since: str
    removed: str

    def __str__(self) -> str:
        return (
            f"{self.domain} {self.kind} {self.what}, deprecated since {self.domain} {self.since}, goes away in "
            f"kernelet-core {self.removed}: use {self.replacement}"
        )


DEPRECATIONS: tuple[Deprecation, ...] = (
    Deprecation(
        kind=Kind.CONTRACT,
        what="v1",
        domain="cache",
        replacement='v2: state api="2.0", and an EvictionPolicy takes (settings, num_blocks)',
        since="2.0",
        removed="0.3",
    ),
    Deprecation(
        kind=Kind.CONTRACT,
        what="v1",
        domain="stats",
        replacement='v2: state api="2.0", and a StatLogger takes (settings, engine)',
        since="2.0",
        removed="0.3",
    ),
)
"""The table. An entry stays until the release that it names, which deletes it together with what it tells of."""


def note_plugin(record: Record, table: Sequence[Deprecation] | None = None) -> None:
    """Looks at everything that a plugin registered; one that does not run is left alone.

    Args:
        record: A plugin, its hooks called.
        table: None means ``DEPRECATIONS``.
    """
    if record.active:
        _note(record, (entry for entry in _table(table) if (use := USES.get(entry.kind)) and use(entry, record)))


def note_target(record: Record, target: object, table: Sequence[Deprecation] | None = None) -> None:
    """Looks at a class that was selected: whether it overrides a deprecated member.

    Args:
        record: The plugin that offers it.
        target: What its import string names.
        table: None means ``DEPRECATIONS``.
    """
    if isinstance(target, type):
        members = (entry for entry in _table(table) if entry.kind is Kind.MEMBER)
        _note(record, (entry for entry in members if _overrides(target, *entry.what.split("."))))


def _table(table: Sequence[Deprecation] | None) -> Sequence[Deprecation]:
    return DEPRECATIONS if table is None else table


def _note(record: Record, used: Iterable[Deprecation]) -> None:
    for entry in used:
        if str(entry) not in record.deprecated:
            record.deprecated.append(str(entry))
            logger.warning("%s uses %s", record.candidate, entry)


def _hook(entry: Deprecation, record: Record) -> bool:
    return entry.what in record.hooks


def _parameter(entry: Deprecation, record: Record) -> bool:
    hook, _, name = entry.what.partition(".")
    function = getattr(record.plugin, hook, None)
    return hook in record.hooks and callable(function) and name in inspect.signature(function).parameters


def _offer(entry: Deprecation, record: Record) -> bool:
    return any(type(offer).__name__ == entry.what for _, offer, _ in record.offers)


def _field(entry: Deprecation, record: Record) -> bool:
    owner, _, name = entry.what.partition(".")
    return any(owner in _names(type(offer)) and _is_set(offer, name) for _, offer, _ in record.offers)


def _contract(entry: Deprecation, record: Record) -> bool:
    major = ApiVersion.parse(entry.what).major
    stated = dict(record.candidate.api).get(entry.domain, "")
    module, _, version = stated.partition(":")
    versions = [offer.api for kind, offer, _ in record.offers if kind.domain == entry.domain]
    versions += [version] if module.startswith(CONTRACTS) else []
    return any(ApiVersion.parse(one).major == major for one in versions)


def _names(kind: type) -> Iterator[str]:
    return (base.__name__ for base in kind.__mro__)


def _is_set(offer: Offer, name: str) -> bool:
    for field in fields(offer):
        if field.name == name:
            default = field.default if field.default_factory is MISSING else field.default_factory()
            return bool(getattr(offer, name) != default)
    return False


def _overrides(target: type, interface: str, member: str) -> bool:
    """Whether a class below the interface defines the member itself."""
    names = [base.__name__ for base in target.__mro__ if base.__module__.startswith(CONTRACTS)]
    own = [base for base in target.__mro__ if not base.__module__.startswith(CONTRACTS)]
    return interface in names and any(member in vars(base) for base in own)


USES: Mapping[Kind, Callable[[Deprecation, Record], bool]] = MappingProxyType(
    {Kind.HOOK: _hook, Kind.PARAMETER: _parameter, Kind.OFFER: _offer, Kind.FIELD: _field, Kind.CONTRACT: _contract}
)
"""How the use of each kind shows when a plugin is loaded; a member's shows when its class is selected."""
