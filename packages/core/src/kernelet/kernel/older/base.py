"""What the adapters share."""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from kernelet.contracts.offer import Offer

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Older:
    """An older major of a kind of offer.

    Attributes:
        offer: The kind.
        major: The major that is served beside today's.
        interface: Today's interface, which the class implements.
        base: The interface as that major had it.
        today: Makes of such a class what is called as today's contract says.
    """

    offer: type[Offer]
    major: int
    interface: type
    base: type
    today: Callable[[type[Any]], Callable[..., Any]]


def above(target: type[T], base: type, **values: object) -> type[T]:
    """The class with another base right below its interface, so that its ``super().__init__`` reaches that one.

    Args:
        target: A vendor's class.
        base: A subclass of the interface that ``target`` implements.
        values: Attributes of the class.
    """
    names = {"__module__": target.__module__, "__qualname__": target.__qualname__, "__doc__": target.__doc__}
    return types.new_class(target.__name__, (target, base), exec_body=lambda space: space.update(names | values))
