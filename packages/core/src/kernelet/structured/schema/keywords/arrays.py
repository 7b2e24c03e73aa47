"""Keywords about arrays."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from kernelet.structured.schema.algebra.facts import CountAtLeast, CountAtMost, Distinct, Fact, Item, Items
from kernelet.structured.schema.dialects import Dialect
from kernelet.structured.schema.keywords.scalars import Reader, at_least_size, at_most_size
from kernelet.structured.schema.keywords.site import Site


def _each(site: Site) -> list[Fact]:
    return [Item(index, site.inside(index)) for index in range(len(site.value))]


def _items(site: Site) -> list[Fact]:
    """All, or those after the first ones; in draft 7 a list stands for the first ones."""
    if isinstance(site.value, list):
        return _each(site)
    return [Items(num_first(site), site.inside())]


def _further_items(site: Site) -> list[Fact]:
    items = site.schema.get("items")
    return [Items(len(items), site.inside())] if isinstance(items, list) else []


def num_first(site: Site) -> int:
    """Items that have a schema of their own, of the site's schema; draft 2020-12."""
    return len(site.schema.get("prefixItems", ())) if site.reading.document.dialect is Dialect.DRAFT_2020_12 else 0


def _contains(site: Site) -> list[Fact]:
    at_least, at_most = 1, None
    if site.reading.document.dialect is Dialect.DRAFT_2020_12:
        at_least, at_most = int(site.schema.get("minContains", 1)), site.schema.get("maxContains")
    facts: list[Fact] = [CountAtLeast(0, site.inside(), at_least, site.path)] if at_least else []
    return facts if at_most is None else [*facts, CountAtMost(0, site.inside(), int(at_most), site.path)]


def _unique(site: Site) -> list[Fact]:
    return [Distinct(path=site.path)] if site.value else []


ARRAYS: Final[Mapping[str, Reader]] = MappingProxyType(
    {
        "minItems": at_least_size,
        "maxItems": at_most_size,
        "prefixItems": _each,
        "items": _items,
        "additionalItems": _further_items,
        "contains": _contains,
        "uniqueItems": _unique,
    }
)
