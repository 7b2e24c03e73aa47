"""Keywords about numbers and strings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from kernelet.structured.schema.algebra.facts import (
    AtLeast,
    AtMost,
    Fact,
    Format,
    Matches,
    Multiple,
    SizeAtLeast,
    SizeAtMost,
)
from kernelet.structured.schema.formats import FORMATS
from kernelet.structured.schema.keywords.site import Site
from kernelet.structured.schema.values import fraction_of

Reader = Callable[[Site], list[Fact]]


def at_least_size(site: Site) -> list[Fact]:
    count = int(site.value)
    return [SizeAtLeast(count, site.path)] if count else []


def at_most_size(site: Site) -> list[Fact]:
    return [SizeAtMost(int(site.value))]


def _pattern(site: Site) -> list[Fact]:
    return [Matches(site.reading.pattern(site.value, site.path), path=site.path)]


def _format(site: Site) -> list[Fact]:
    return [Format(site.value, site.path)] if site.value in FORMATS else []


NUMBERS: Final[Mapping[str, Reader]] = MappingProxyType(
    {
        "minimum": lambda site: [AtLeast(fraction_of(site.value), exclusive=False)],
        "maximum": lambda site: [AtMost(fraction_of(site.value), exclusive=False)],
        "exclusiveMinimum": lambda site: [AtLeast(fraction_of(site.value), exclusive=True)],
        "exclusiveMaximum": lambda site: [AtMost(fraction_of(site.value), exclusive=True)],
        "multipleOf": lambda site: [Multiple(fraction_of(site.value))],
    }
)
STRINGS: Final[Mapping[str, Reader]] = MappingProxyType(
    {"minLength": at_least_size, "maxLength": at_most_size, "pattern": _pattern, "format": _format}
)
