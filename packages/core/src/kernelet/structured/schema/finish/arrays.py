"""Facts about arrays, as shapes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Final

from kernelet.structured.refusal import Refusal, UnenforcedError
from kernelet.structured.schema.algebra.clauses import Clause
from kernelet.structured.schema.algebra.facts import (
    CountAtLeast,
    CountAtMost,
    Distinct,
    Item,
    Items,
    SizeAtLeast,
    SizeAtMost,
)
from kernelet.structured.schema.algebra.terms import Key, Literal, opposite
from kernelet.structured.schema.finish.distinct import distinct_shapes
from kernelet.structured.schema.shapes import ArrayShape, Contained

if TYPE_CHECKING:
    from kernelet.structured.schema.graph import Builder

MAX_WAYS: Final = 500
"""Alternatives that one conjunction of facts about arrays may have."""
MAX_SPELLED: Final = 8
"""Items of arrays that are spelled out one by one where several counts need it."""


@dataclass(frozen=True)
class Count:
    """How often items satisfy a literal; ``high`` None: no bound."""

    literal: Literal
    low: int
    high: int | None
    path: str


@dataclass(frozen=True)
class Form:
    """Arrays on the way to a shape; counts are left.

    Attributes:
        prefix: Of the first items.
        rest: Of the others; None: there are none.
        low: Items at least.
        high: Items at most.
        counts: Of the items after ``prefix``, one for each literal.
    """

    prefix: tuple[Key, ...]
    rest: Key | None
    low: int
    high: int | None
    counts: tuple[Count, ...] = ()


def array_shapes(builder: Builder, clause: Clause, path: str) -> list[ArrayShape]:
    """The arrays that satisfy all facts.

    Raises:
        UnenforcedError: that cannot be written.
    """
    form = _form(builder, clause)
    if form is None:
        return []
    forms = [form]
    counts = [fact for fact in clause if isinstance(fact, CountAtLeast | CountAtMost)]
    if len({fact.literal for fact in counts}) > 1 and form.rest is not None and (form.high or MAX_WAYS) <= MAX_SPELLED:
        forms = [_spelled(form)]
    for fact in sorted(counts, key=lambda fact: (isinstance(fact, CountAtMost), fact.start, fact.literal)):
        forms = [each for one in forms for each in _counted(builder, one, fact)]
        if len(forms) > MAX_WAYS:
            raise _too_many(fact.path or path)
    distinct = [fact for fact in clause if isinstance(fact, Distinct)]
    return [shape for one in forms for shape in _shapes(builder, one, distinct, path)]


def _too_many(path: str) -> UnenforcedError:
    return UnenforcedError([Refusal(path, "too many items have a schema of their own for this")])


def _form(builder: Builder, clause: Clause) -> Form | None:
    """Without counts."""
    low = max((fact.count for fact in clause if isinstance(fact, SizeAtLeast)), default=0)
    high = min((fact.count for fact in clause if isinstance(fact, SizeAtMost)), default=None)
    items = [fact for fact in clause if isinstance(fact, Item)]
    rests = [fact for fact in clause if isinstance(fact, Items)]
    counts = [fact for fact in clause if isinstance(fact, CountAtLeast | CountAtMost)]
    size = max([0, *(fact.index + 1 for fact in items), *(fact.start for fact in (*rests, *counts))])
    if high is not None:
        size = min(size, high)
    prefix = [
        builder.reading.key(
            [fact.literal for fact in items if fact.index == index]
            + [fact.literal for fact in rests if fact.start <= index]
        )
        for index in range(size)
    ]
    rest = builder.reading.key(fact.literal for fact in rests)
    return _cut(builder, Form(tuple(prefix), rest, low, high))


def _cut(builder: Builder, form: Form) -> Form | None:
    """Without items that nothing satisfies; None: no array is left."""
    prefix, rest, high = form.prefix, form.rest, form.high
    for index, key in enumerate(prefix):
        if builder.is_empty(key):
            high = index if high is None else min(high, index)
            break
    if rest is not None and builder.is_empty(rest):
        rest = None
    if rest is None:
        high = len(prefix) if high is None else min(high, len(prefix))
    if high is not None and high <= len(prefix):
        prefix, rest = prefix[:high], None
    if high is not None and form.low > high:
        return None
    return replace(form, prefix=prefix, rest=rest, high=high)


def _spelled(form: Form) -> Form:
    """With all items in the prefix."""
    assert form.rest is not None
    assert form.high is not None
    return replace(form, prefix=form.prefix + (form.rest,) * (form.high - len(form.prefix)), rest=None)


def _counted(builder: Builder, form: Form, fact: CountAtLeast | CountAtMost) -> Iterator[Form]:
    """With one more count: the ways in which first items take part in it."""
    at_least = isinstance(fact, CountAtLeast)
    places = range(fact.start, len(form.prefix))
    most = min(fact.count, len(places))
    sizes = range(most + 1)
    if form.rest is None:  # fewer of the first items are not enough, or are among those that there may be
        sizes = range(fact.count, most + 1) if at_least else range(most, most + 1)
    if sum(math.comb(len(places), size) for size in sizes) > MAX_WAYS:
        raise _too_many(fact.path)
    for size in sizes:
        left = fact.count - size
        for chosen in combinations(places, size):
            marked = chosen if at_least else tuple(index for index in places if index not in chosen)
            literal = fact.literal if at_least else opposite(fact.literal)
            prefix = [
                builder.reading.key({*key, literal}) if index in marked else key
                for index, key in enumerate(form.prefix)
            ]
            low = max([form.low, *(index + 1 for index in chosen)]) if at_least else form.low
            counts = form.counts
            if form.rest is not None and (left or not at_least):
                counts = _with_count(counts, fact, left)
                low = max(low, len(prefix) + left) if at_least else low
            found = _cut(builder, replace(form, prefix=tuple(prefix), low=low, counts=counts))
            if found is not None and (found.rest is not None or not at_least or not left):
                yield found


def _with_count(counts: tuple[Count, ...], fact: CountAtLeast | CountAtMost, left: int) -> tuple[Count, ...]:
    known = next((count for count in counts if count.literal == fact.literal), Count(fact.literal, 0, None, fact.path))
    if isinstance(fact, CountAtLeast):
        known = replace(known, low=max(known.low, left))
    else:
        known = replace(known, high=left if known.high is None else min(known.high, left))
    return *(count for count in counts if count.literal != fact.literal), known


def _shapes(builder: Builder, form: Form, distinct: list[Distinct], path: str) -> list[ArrayShape]:
    form, kept, possible = _simplified(builder, form)
    cut = _cut(builder, form) if possible else None
    if cut is None or (cut.rest is None and any(count.low for count in kept)):
        return []
    if cut.rest is None:
        kept = []
    if len(kept) > 1:
        reason = "several conditions on how often items occur in one array cannot be held at once"
        raise UnenforcedError([Refusal(count.path or path, reason) for count in kept])
    if distinct:
        return distinct_shapes(builder, cut, distinct, kept[0].path if kept else None)
    return [plain_shape(builder, cut, path, kept[0] if kept else None)]


def _simplified(builder: Builder, form: Form) -> tuple[Form, list[Count], bool]:
    """A form with the counts that are left when the others are said without counting; False: they contradict it."""
    if form.rest is None:
        return form, [], True
    never = {opposite(count.literal) for count in form.counts if count.high == 0}
    rest, size = builder.reading.key(form.rest | never), len(form.prefix)
    low, high = form.low, form.high
    kept: list[Count] = []
    for count in form.counts:
        if count.high is not None and count.low > count.high:
            return form, [], False
        if builder.is_empty(builder.reading.key({*rest, count.literal})):
            if count.low:
                return form, [], False
        elif builder.is_empty(builder.reading.key({*rest, opposite(count.literal)})):
            low = max(low, size + count.low)
            if count.high is not None:
                high = size + count.high if high is None else min(high, size + count.high)
        else:
            kept.append(count)
    kept = [count for count in kept if not any(_implies(builder, rest, other, count) for other in kept)]
    return replace(form, rest=rest, low=low, high=high), kept, True


def _implies(builder: Builder, rest: Key, one: Count, other: Count) -> bool:
    """Whether what the one count asks makes the other one idle."""
    if one is other or other.high is not None or one.low < other.low:
        return False
    return builder.is_empty(builder.reading.key({*rest, one.literal, opposite(other.literal)}))


def plain_shape(builder: Builder, form: Form, path: str, count: Count | None = None) -> ArrayShape:
    """Of a form, with the one count that is left."""
    contained = None
    if count is not None and form.rest is not None:
        inside, outside = (
            builder.reading.key({*form.rest, literal}) for literal in (count.literal, opposite(count.literal))
        )
        contained = Contained(
            inside=builder.node(inside, count.path),
            outside=builder.node(outside, count.path),
            minimum=count.low,
            maximum=count.high,
        )
    return ArrayShape(
        prefix=tuple(builder.node(key, path) for key in form.prefix),
        rest=None if form.rest is None else builder.node(form.rest, path),
        min_items=form.low,
        max_items=None if form.rest is None and form.high == len(form.prefix) else form.high,
        contained=contained,
    )
