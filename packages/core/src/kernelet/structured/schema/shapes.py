"""Schemas in one form: the values that they allow, type by type.

What reads schemas makes a ``SchemaGraph``; what writes rules takes it. All that JSON Schema can say across types and by
combination (``$ref``, ``allOf``, ``not``, ``if``, ``dependentSchemas``, ...) has been worked into the shapes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kernelet.structured.automata.syntax import Regex

NodeId = int
"""Index of a node of a graph."""


@dataclass(frozen=True, kw_only=True)
class NullShape:
    """``null``."""


@dataclass(frozen=True, kw_only=True)
class BooleanShape:
    """``true``, ``false``, or (None) both."""

    value: bool | None = None


@dataclass(frozen=True, kw_only=True)
class NumberShape:
    """Numbers, by their value: 1, 1.0 and 1e0 are one.

    Attributes:
        integer: Only whole ones.
        minimum: None: no bound.
        maximum: None: no bound.
        exclusive_minimum: ``minimum`` itself is not allowed.
        exclusive_maximum: ``maximum`` itself is not allowed.
        multiples: A value is a multiple of each; > 0.
        not_multiples: A value is a multiple of none; > 0. ``not: integer`` is ``(1,)``.
        values: Only these, which satisfy all the rest; None: any.
        excluded: Not these.
    """

    integer: bool = False
    minimum: Fraction | None = None
    maximum: Fraction | None = None
    exclusive_minimum: bool = False
    exclusive_maximum: bool = False
    multiples: tuple[Fraction, ...] = ()
    not_multiples: tuple[Fraction, ...] = ()
    values: frozenset[Fraction] | None = None
    excluded: frozenset[Fraction] = frozenset()


@dataclass(frozen=True, kw_only=True)
class StringShape:
    """Strings, by their text.

    Attributes:
        min_length: Characters (code points).
        max_length: None: no bound.
        patterns: The text is in each of these languages (patterns that search have their surroundings in them).
        not_patterns: The text is in none of these.
        formats: Names of formats that the text has; those that core knows (``kernelet.structured.schema.formats``).
        values: Only these, which satisfy all the rest; None: any.
        excluded: Not these.
    """

    min_length: int = 0
    max_length: int | None = None
    patterns: tuple[Regex, ...] = ()
    not_patterns: tuple[Regex, ...] = ()
    formats: tuple[str, ...] = ()
    values: frozenset[str] | None = None
    excluded: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Contained:
    """How often an array holds a kind of item. The two kinds exclude one another.

    Attributes:
        inside: Items that count.
        outside: Items that do not; a node without shapes: there are none.
        minimum: At least so many that count.
        maximum: None: no bound.
    """

    inside: NodeId
    outside: NodeId
    minimum: int
    maximum: int | None = None


@dataclass(frozen=True, kw_only=True)
class ArrayShape:
    """Arrays.

    Attributes:
        prefix: Of the first items, one each; a shorter array has the first of them.
        rest: Of all further items; None: there are none.
        min_items: Of all items, ``prefix`` included.
        max_items: None: no bound.
        contained: Further condition on the items after ``prefix``, whose ``rest`` is the union of its two kinds.
        distinct: Items are any of these nodes, none of them twice; each node allows exactly one value. ``prefix`` and
            ``contained`` are empty then, and ``rest`` is not used. None: items may repeat.
    """

    prefix: tuple[NodeId, ...] = ()
    rest: NodeId | None = None
    min_items: int = 0
    max_items: int | None = None
    contained: Contained | None = None
    distinct: tuple[NodeId, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class Property:
    """A property with a name of its own.

    Attributes:
        name: Differs from those of others.
        node: Of its value.
        required: It must be there.
        has_place: It is written where it stands. False: the schema gives no place; among those like it, behind all
            others, it may be written in any order.
    """

    name: str
    node: NodeId
    required: bool
    has_place: bool = True


@dataclass(frozen=True, kw_only=True)
class KeyClass:
    """Further properties by their names.

    Attributes:
        keys: The names; none of them is a ``Property``, and the classes of a shape exclude one another.
        node: Of their values.
    """

    keys: Regex
    node: NodeId


@dataclass(frozen=True, kw_only=True)
class ObjectShape:
    """Objects. Properties with a name of their own come first and in this order, each at most once.

    Attributes:
        properties: A name that is forbidden is in neither ``properties`` nor ``others``.
        others: None: there are none.
        min_properties: Of all. More than one beyond the required ones need ``others`` to be empty: nobody can tell that
            two further names differ.
        max_properties: None: no bound.
    """

    properties: tuple[Property, ...] = ()
    others: tuple[KeyClass, ...] = ()
    min_properties: int = 0
    max_properties: int | None = None


Shape = NullShape | BooleanShape | NumberShape | StringShape | ArrayShape | ObjectShape
Node = tuple[Shape, ...]
"""A value is allowed where any of the shapes allows it; several may. Without shapes nothing is."""


@dataclass
class SchemaGraph:
    """Nodes that refer to each other, also in circles.

    Attributes:
        nodes: By ``NodeId``. Every node that is reached from the root allows some finite value, unless it is the root.
        root: Of the whole text.
        paths: Where a node comes from, as in ``Refusal.path``, for messages.
        empty: Where nothing is allowed, so that the root allows nothing; None: it allows something, or only values
            inside of values without end.
    """

    nodes: list[Node] = field(default_factory=list)
    root: NodeId = 0
    paths: dict[NodeId, str] = field(default_factory=dict)
    empty: str | None = None
