"""Which older majors have an adapter, and the check that a class is what its offer's ``api`` says."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from kernelet.contracts.offer import Offer
from kernelet.contracts.versions import ApiVersion
from kernelet.errors import PluginError
from kernelet.kernel.kinds import kind_of
from kernelet.kernel.older import cache_v1, stats_v1
from kernelet.kernel.older.base import Older

SERVED: tuple[Older, ...] = (cache_v1.OLDER, stats_v1.OLDER)
"""Majors whose classes are made in another way than today's; others need no adapter."""


def as_today(offer: Offer, target: Any, owner: object, served: Sequence[Older] = SERVED) -> Any:
    """An offer's target, which is called as today's contract says whichever major it was written for.

    Args:
        offer: States the contract's version.
        target: What ``offer.target`` names.
        owner: The plugin, for messages.
        served: The older majors with an adapter.

    Raises:
        PluginError: the class is of the other major than its offer says, or does not implement the interface.
    """
    older = next((one for one in served if one.offer is type(offer)), None)
    if older is None or not isinstance(target, type):
        return target
    if not issubclass(target, older.interface) or inspect.isabstract(target):
        missing = ", ".join(sorted(getattr(target, "__abstractmethods__", ()))) or "its base class"
        raise PluginError(f"{offer.target} of {owner} is no {older.interface.__name__}: {missing} is missing")
    is_old = ApiVersion.parse(offer.api).major == older.major
    made_by = next(base for base in target.__mro__ if "__init__" in vars(base))
    # both majors have a constructor of their own: a class without one fits either
    if made_by is not older.interface and not takes(target, older.base if is_old else older.interface):
        raise PluginError(_other_major(offer, target, owner, older, is_old=is_old))
    return older.today(target) if is_old else target


def takes(target: type, interface: type) -> bool:
    """Whether a class can be made as the interface is."""
    try:
        inspect.signature(target).bind(*parameters(interface))
    except TypeError:
        return False
    return True


def parameters(interface: type) -> list[str]:
    """Names of what an interface's constructor takes."""
    return list(inspect.signature(interface).parameters)


def _other_major(offer: Offer, target: type, owner: object, older: Older, *, is_old: bool) -> str:
    domain, kind = kind_of(type(offer)).domain, type(offer).__name__
    this, other = (older.major, older.major + 1) if is_old else (older.major + 1, older.major)
    expected, its = (older.base, older.interface) if is_old else (older.interface, older.base)
    text = f"{offer.target} of {owner} cannot be made with {_call(expected)}, as its offer says with api={offer.api!r}"
    if takes(target, its):
        return f'{text}. It takes {_call(its)}, which is {domain} {other}.0: write {kind}(..., api="{other}.0")'
    return f"{text} ({domain} {this}); {domain} {older.major + 1}.0 gives {_call(older.interface)}"


def _call(interface: type) -> str:
    return f"({', '.join(parameters(interface))})"
