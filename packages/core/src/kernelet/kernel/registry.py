"""Registries of offers: an owner for each entry, no duplicates, read-only once sealed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar, cast

from kernelet.contracts.offer import Offer
from kernelet.contracts.plugins import Owned
from kernelet.errors import DuplicatePluginError, SealedRegistryError
from kernelet.kernel.kinds import Kind

O = TypeVar("O", bound=Offer)  # noqa: E741 - for Offer


class Registry:
    """All offers of a kernel, by kind."""

    def __init__(self) -> None:
        self._entries: dict[type[Offer], list[Owned[Any]]] = {}
        self._owners: dict[tuple[str, str], str] = {}
        self._sealed = False

    def add(self, plugin: str, offers: Sequence[tuple[Kind, Offer]]) -> None:
        """Adds a plugin's offers, all or none.

        Raises:
            DuplicatePluginError: a name has an owner already; both are named.
            SealedRegistryError: start-up is over.
        """
        if self._sealed:
            raise SealedRegistryError(
                f"plugin {plugin!r} cannot add offers: registries are sealed after start-up; return them from a hook"
            )
        owners = dict(self._owners)
        for kind, offer in offers:
            keys = [
                (kind.scope or kind.domain, offer.name),
                *((f"{kind.label} name", claim) for claim in kind.claims(offer)),
            ]
            for key in keys:
                if key in owners:
                    raise DuplicatePluginError(_duplicate_message(key, owners[key], plugin))
                owners[key] = plugin
        self._owners = owners
        for kind, offer in offers:
            self._entries.setdefault(kind.offer, []).append(Owned(offer=offer, plugin=plugin))

    def seal(self) -> None:
        """Makes the registry read-only."""
        for entries in self._entries.values():
            entries.sort(key=lambda owned: str(owned.offer.name))
        self._sealed = True

    def without(self, plugin: str) -> Registry:
        """A sealed copy that lacks a plugin's offers."""
        copy = Registry()
        copy._entries = {kind: [e for e in entries if e.plugin != plugin] for kind, entries in self._entries.items()}
        copy._owners = {key: owner for key, owner in self._owners.items() if owner != plugin}
        copy.seal()
        return copy

    def offers(self, kind: type[O]) -> tuple[Owned[O], ...]:
        """Offers of a kind, sorted by name once sealed."""
        return tuple(cast("list[Owned[O]]", self._entries.get(kind, [])))

    def of_plugin(self, plugin: str) -> tuple[Owned[Any], ...]:
        """A plugin's offers of all kinds."""
        return tuple(owned for entries in self._entries.values() for owned in entries if owned.plugin == plugin)


def _duplicate_message(key: tuple[str, str], first: str, second: str) -> str:
    what, name = key
    if first == second:
        return f"plugin {first!r} offers {what} {name!r} twice"
    return f"{what} {name!r} is offered by the plugins {first!r} and {second!r}; only {first!r} keeps it"
