"""Clauses without what other facts of theirs say already, and those that nothing satisfies."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kernelet.structured.schema.algebra.clauses import Clause
from kernelet.structured.schema.algebra.facts import (
    AtLeast,
    AtMost,
    Fact,
    Has,
    Item,
    Member,
    NoneOf,
    OneOf,
    SizeAtLeast,
    SizeAtMost,
    Truth,
)
from kernelet.structured.schema.algebra.terms import Literal


def tidy(clause: Clause, is_empty: Callable[[Iterable[Literal]], bool]) -> Clause | None:
    """A clause with one bound where there were several; None: nothing satisfies it.

    Args:
        clause: Facts about one type.
        is_empty: Whether it is certain that no value satisfies all of some literals.
    """
    if len(clause) < 2:
        return clause
    facts = _tidy_values(_tidy_sizes(set(clause)))
    if facts is None or len({fact.value for fact in facts if isinstance(fact, Truth)}) > 1:
        return None
    return None if _is_contradiction(facts, is_empty) else frozenset(facts)


def _tidy_sizes(facts: set[Fact]) -> set[Fact] | None:
    least = [fact for fact in facts if isinstance(fact, SizeAtLeast)]
    most = [fact for fact in facts if isinstance(fact, SizeAtMost)]
    low = max(least, key=lambda fact: fact.count, default=None)
    high = min(most, key=lambda fact: fact.count, default=None)
    if low is not None and high is not None and low.count > high.count:
        return None
    facts = facts - (set(least) - {low}) - (set(most) - {high})
    bottoms = [fact for fact in facts if isinstance(fact, AtLeast)]
    tops = [fact for fact in facts if isinstance(fact, AtMost)]
    bottom = max(bottoms, key=lambda fact: (fact.bound, fact.exclusive), default=None)
    top = min(tops, key=lambda fact: (fact.bound, not fact.exclusive), default=None)
    if bottom is not None and top is not None and not _leaves_numbers(bottom, top):
        return None
    return facts - (set(bottoms) - {bottom}) - (set(tops) - {top})


def _leaves_numbers(bottom: AtLeast, top: AtMost) -> bool:
    return bottom.bound < top.bound or (bottom.bound == top.bound and not (bottom.exclusive or top.exclusive))


def _tidy_values(facts: set[Fact] | None) -> set[Fact] | None:
    if facts is None:
        return None
    given = [fact for fact in facts if isinstance(fact, OneOf)]
    barred = [fact for fact in facts if isinstance(fact, NoneOf)]
    out = frozenset().union(*(fact.values for fact in barred))
    if given:
        values = frozenset.intersection(*(fact.values for fact in given)) - out
        return (facts - set(given) - set(barred)) | {OneOf(values)} if values else None
    return (facts - set(barred)) | {NoneOf(out)} if len(barred) > 1 else facts


def _is_contradiction(facts: set[Fact], is_empty: Callable[[Iterable[Literal]], bool]) -> bool:
    """Whether a property or an item that there must be can have no value."""
    asked: dict[str | int, set[Literal]] = {}
    needed: set[str | int] = set()
    for fact in facts:
        match fact:
            case Has(name):
                needed.add(name)
            case SizeAtLeast(count):
                needed.update(other.index for other in facts if isinstance(other, Item) and other.index < count)
            case Member(name, literal):
                asked.setdefault(name, set()).add(literal)
            case Item(index, literal):
                asked.setdefault(index, set()).add(literal)
            case _:
                pass
    return any(is_empty(asked[place]) for place in needed & asked.keys())
