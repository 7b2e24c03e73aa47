"""What a hook returns: an offer names an implementation, it does not import one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass(frozen=True, kw_only=True)
class Offer:
    """Base of all offers.

    Attributes:
        name: Name that operators use in flags; unique within the domain; a tool and a reasoning parser may share one.
        target: Import string ``"package.module:Class"``, imported when the offer is selected.
        api: Contract version that the implementation was written for, e.g. ``"1.0"``.
        priority: Larger wins among those that fit and were not named.
        requires: Offers that must be selected too, as ``"domain:name"``; of parsers ``"tool-parser:name"`` and
            ``"reasoning-parser:name"``.
        conflicts: Offers that must not be selected together with this one, as ``"domain:name"``.
        summary: One line for people.
        self_check: Import string of ``(Settings) -> None``, a quick check of what the implementation needs where it
            runs (a library, a device, an instruction set), without a model; it raises, saying what is wrong and what to
            do. ``kernelet plugins doctor`` calls it, in a process of its own; a start does not. Empty: there is none.
    """

    name: str
    target: str
    api: str = "1.0"
    priority: int = 0
    requires: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    summary: str = ""
    self_check: str = ""


@dataclass(frozen=True, kw_only=True)
class Option:
    """One key of a plugin's configuration namespace.

    Attributes:
        type: ``bool``, ``int``, ``float`` or ``str``.
        default: Value when nobody set the key.
        help: One line for people.
        choices: The allowed values; empty means any.
    """

    type: type
    default: bool | int | float | str | None = None
    help: str = ""
    choices: tuple[str, ...] = ()


Schema = Mapping[str, Option]
"""A plugin's configuration namespace: key to option."""

NO_OPTIONS: Schema = MappingProxyType({})


@dataclass(frozen=True, kw_only=True)
class Settings:
    """A plugin's own validated configuration, with every default filled in."""

    plugin: str
    values: Mapping[str, bool | int | float | str | None] = field(default_factory=dict)

    def __getitem__(self, key: str) -> bool | int | float | str | None:
        return self.values[key]
