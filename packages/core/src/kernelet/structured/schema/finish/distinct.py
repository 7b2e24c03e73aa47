"""``uniqueItems``, and its opposite, over items of which there are few."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Final

from kernelet.structured.refusal import Refusal, UnenforcedError
from kernelet.structured.schema.algebra.facts import Distinct
from kernelet.structured.schema.algebra.terms import Key, ValueTerm
from kernelet.structured.schema.shapes import ArrayShape
from kernelet.structured.schema.values import Value

if TYPE_CHECKING:
    from kernelet.structured.schema.finish.arrays import Form
    from kernelet.structured.schema.graph import Builder

MAX_VALUES: Final = 10
"""Of an item."""
MAX_ARRAYS: Final = 200
"""That are spelled out."""
MAX_TRIED: Final = 20_000
"""Choices of a value for each item."""


def distinct_shapes(builder: Builder, form: Form, facts: list[Distinct], counted: str | None) -> list[ArrayShape]:
    """The arrays of a form whose items differ, or do not.

    Args:
        builder: Of the graph.
        form: Arrays.
        facts: What is asked.
        counted: Where it says how often some items occur; None: nowhere.

    Raises:
        UnenforcedError: nobody can hold items to that.
    """
    from kernelet.structured.schema.finish.arrays import plain_shape

    path = facts[0].path
    wanted = {fact.distinct for fact in facts}
    if len(wanted) > 1:
        return []
    distinct = wanted == {True}
    if form.high is not None and form.high <= 1:
        return [plain_shape(builder, form, path)] if distinct else []
    if counted is None:
        if distinct and form.rest is None and _differ(builder, form.prefix):
            return [plain_shape(builder, form, path)]
        if distinct and not form.prefix and form.rest is not None:
            shape = _of_values(builder, form, path)
            if shape is not None:
                return shape
        if form.high is not None:
            spelled = _spelled_out(builder, form, path, distinct=distinct)
            if spelled is not None:
                return spelled
    what = "differ" if distinct else "are not all different"
    raise UnenforcedError([Refusal(path, f"that items {what} is enforced where each has at most {MAX_VALUES} values")])


def _differ(builder: Builder, keys: tuple[Key, ...]) -> bool:
    """Whether no two of these have a value in common."""
    return all(builder.reading.is_empty(one | other) for one, other in combinations(keys, 2))


def _of_values(builder: Builder, form: Form, path: str) -> list[ArrayShape] | None:
    assert form.rest is not None
    values = builder.values(form.rest, MAX_VALUES)
    if values is None:
        return None
    high = len(values) if form.high is None else min(form.high, len(values))
    if form.low > high:
        return []
    nodes = tuple(builder.node(_key(builder, value), path) for value in values)
    return [ArrayShape(rest=builder.node(form.rest, path), min_items=form.low, max_items=high, distinct=nodes)]


def _key(builder: Builder, value: Value) -> Key:
    return builder.reading.key([builder.reading.terms.literal(ValueTerm(value))])


def _spelled_out(builder: Builder, form: Form, path: str, *, distinct: bool) -> list[ArrayShape] | None:
    """One shape for each array; None: there are too many."""
    from kernelet.structured.schema.finish.arrays import plain_shape

    assert form.high is not None
    rest = form.high - len(form.prefix)
    if rest > MAX_VALUES:
        return None
    keys = form.prefix + ((form.rest,) * rest if form.rest is not None else ())
    domains = [builder.values(key, MAX_VALUES) for key in keys]
    found: list[ArrayShape] = []
    known = [domain for domain in domains if domain is not None]
    if len(known) < len(domains) or math.prod(map(len, known)) > MAX_TRIED:
        return None
    for size in range(form.low, len(keys) + 1):
        for values in _tuples(known[:size], distinct=distinct):
            if len(found) >= MAX_ARRAYS:
                return None
            prefix = tuple(_key(builder, value) for value in values)
            found.append(plain_shape(builder, replace(form, prefix=prefix, rest=None, low=size, high=size), path))
    return found


def _tuples(domains: list[tuple[Value, ...]], *, distinct: bool) -> Iterator[tuple[Value, ...]]:
    """Choices of a value each that are all different, or not."""

    def extend(chosen: tuple[Value, ...]) -> Iterator[tuple[Value, ...]]:
        if len(chosen) == len(domains):
            if distinct or len(set(chosen)) < len(chosen):
                yield chosen
            return
        for value in domains[len(chosen)]:
            if not distinct or value not in chosen:
                yield from extend((*chosen, value))

    return extend(())
