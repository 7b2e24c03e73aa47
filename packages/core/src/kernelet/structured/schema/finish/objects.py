"""Facts about objects, as shapes."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Final

from kernelet.structured.refusal import Refusal, UnenforcedError
from kernelet.structured.schema.algebra.clauses import Clause
from kernelet.structured.schema.algebra.facts import (
    NO_ORDER,
    Has,
    KeySet,
    Member,
    Members,
    Order,
    SizeAtLeast,
    SizeAtMost,
    SomeMember,
)
from kernelet.structured.schema.algebra.terms import ALWAYS, Key, Literal
from kernelet.structured.schema.finish.keys import Cell, cells, finite_names, holds
from kernelet.structured.schema.keywords.objects import ASKED
from kernelet.structured.schema.shapes import KeyClass, ObjectShape, Property

if TYPE_CHECKING:
    from kernelet.structured.schema.graph import Builder

MAX_SPLIT: Final = 6
"""Optional properties whose presence is spelled out, where one more property is asked for."""


UNPLACED: Final[Order] = (ASKED, 0, 0)
"""The order of names that neither ``properties`` nor a constant gives begins here."""


@dataclass
class Form:
    """Objects on the way to a shape.

    Attributes:
        orders: Names with a schema of their own, and where they are written.
        keys: Of the values of those that there may be.
        needed: Names that there must be.
        others: Of all further names that there may be.
        low: Properties at least, with the place that says so.
        high: At most.
    """

    orders: dict[str, Order] = field(default_factory=dict)
    keys: dict[str, Key] = field(default_factory=dict)
    needed: set[str] = field(default_factory=set)
    others: list[Cell] = field(default_factory=list)
    low: tuple[int, str] = (0, "")
    high: int | None = None

    @property
    def optional(self) -> list[str]:
        """Names that there may be."""
        return [name for name in self.keys if name not in self.needed]


def object_shapes(builder: Builder, clause: Clause, path: str) -> list[ObjectShape]:
    """The objects that satisfy all facts.

    Raises:
        UnenforcedError: that cannot be written.
    """
    wanted = next((fact for fact in clause if isinstance(fact, SomeMember)), None)
    if wanted is None:
        form = _form(builder, clause)
        return [] if form is None else _shapes(builder, form, path)
    shapes: list[ObjectShape] = []
    names = [*_orders(clause), *finite_names(wanted.keys)]
    for name in dict.fromkeys(name for name in names if holds(wanted.keys, name)):
        given: Clause = frozenset({Has(name), Member(name, wanted.literal)})
        with_name = clause - {wanted} | given
        shapes += object_shapes(builder, with_name, path)
    return shapes + _with_other(builder, clause, wanted, frozenset(names), path)


def _orders(clause: Clause) -> dict[str, Order]:
    """All names with a schema of their own, in order."""
    orders: dict[str, Order] = {}
    for fact in clause:
        match fact:
            case Member(name, _, order) | Has(name, order):
                orders[name] = min(order, orders.get(name, NO_ORDER))
            case Members(keys) | SomeMember(keys):
                for name in keys.but:
                    orders.setdefault(name, NO_ORDER)
            case _:
                pass
    return dict(sorted(orders.items(), key=lambda item: (item[1], item[0])))


def _form(
    builder: Builder, clause: Clause, asked: tuple[KeySet, ...] = (), names: frozenset[str] = frozenset()
) -> Form | None:
    """Without what some property must be; None: no object is left.

    Args:
        builder: Of the graph.
        clause: Facts.
        asked: Names that somebody else will tell apart from others.
        names: Names that are to have a schema of their own.
    """
    form = Form(orders=_orders(clause))
    form.orders |= dict.fromkeys(sorted(names - form.orders.keys()), NO_ORDER)
    members = [fact for fact in clause if isinstance(fact, Members)]
    literals: dict[str, set[Literal]] = {name: set() for name in form.orders}
    for fact in clause:
        match fact:
            case Member(name, literal):
                literals[name].add(literal)
            case Has(name):
                form.needed.add(name)
            case SizeAtLeast(count, place):
                form.low = max(form.low, (count, place))
            case SizeAtMost(count):
                form.high = count if form.high is None else min(form.high, count)
            case _:
                pass
    for name in form.orders:
        key = builder.reading.key({*literals[name], *(fact.literal for fact in members if holds(fact.keys, name))})
        if not builder.is_empty(key):
            form.keys[name] = key
        elif name in form.needed:
            return None
    form.others = [
        cell for cell in cells(builder, members, asked, frozenset(form.orders)) if not builder.is_empty(cell.key)
    ]
    if builder.closed and form.orders:
        form.others = [cell for cell in form.others if cell.key]
    return form


def _with_other(
    builder: Builder, clause: Clause, wanted: SomeMember, names: frozenset[str], path: str
) -> list[ObjectShape]:
    """The objects of a clause in which the wanted property has a name without a schema of its own."""
    further = [fact for fact in clause if isinstance(fact, SomeMember)]
    form = _form(builder, frozenset(clause - set(further)), tuple(fact.keys for fact in further), names)
    if form is None:
        return []
    inside = [cell for cell in form.others if cell.is_in(wanted.keys)]
    if all(builder.reading.is_empty({*cell.key, wanted.literal}) for cell in inside):
        return []
    (first, *rest) = form.others
    settled = not rest and all(
        first.is_in(fact.keys) and _follows(builder, first.key, fact.literal) for fact in further
    )
    if not settled or len(form.optional) > MAX_SPLIT:
        reason = "that there is a further property of some kind, whose name is not given, cannot be enforced here"
        raise UnenforcedError([Refusal(wanted.path or path, reason)])
    shapes: list[ObjectShape] = []
    for present in product((False, True), repeat=len(form.optional)):
        chosen = {name for name, is_there in zip(form.optional, present, strict=True) if is_there}
        left = {name: key for name, key in form.keys.items() if name in form.needed | chosen}
        low = max(form.low, (len(left) + 1, wanted.path))
        one = Form(form.orders, left, form.needed | chosen, form.others, low, form.high)
        shapes += _shapes(builder, one, path)
    return shapes


def _follows(builder: Builder, key: Key, literal: Literal) -> bool:
    return literal == ALWAYS or literal in key or builder.reading.is_empty({*key, literal ^ 1})


def _shapes(builder: Builder, form: Form, path: str) -> list[ObjectShape]:
    low, place = form.low
    if form.high is not None and (form.high < max(low, len(form.needed))):
        return []
    if low <= len(form.needed):
        low = 0
    elif not form.others:
        if low > len(form.keys):
            return []
    elif low > len(form.needed) + 1:
        reason = "nobody can tell that names which are not given differ: name the properties, or ask for fewer"
        raise UnenforcedError([Refusal(place or path, reason)])
    properties = tuple(
        Property(
            name=name,
            node=builder.node(form.keys[name], path),
            required=name in form.needed,
            has_place=order < UNPLACED,
        )
        for name, order in form.orders.items()
        if name in form.keys
    )
    others = tuple(KeyClass(keys=cell.language, node=builder.node(cell.key, path)) for cell in form.others)
    high = None if form.high is not None and not others and form.high >= len(properties) else form.high
    return [ObjectShape(properties=properties, others=others, min_properties=low, max_properties=high)]
