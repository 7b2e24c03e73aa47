"""Disjunctions of conjunctions of facts about one type of value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from kernelet.structured.schema.algebra.facts import Fact, negation

Clause = frozenset[Fact]
"""Facts that hold together."""

Clauses = tuple[Clause, ...]
"""Any of these; none: nothing is allowed."""

TRUE: Final[Clauses] = (frozenset(),)
FALSE: Final[Clauses] = ()

MAX_COMPARED: Final = 300
"""Beyond so many alternatives nobody looks for ones that others include."""


def conjunction(facts: Iterable[Fact]) -> Clauses:
    """All of these facts."""
    return (frozenset(facts),)


def negated(facts: Iterable[Fact]) -> Clauses:
    """Not all of these facts."""
    return either(*(FALSE if opposite is None else conjunction(opposite) for opposite in map(negation, facts)))


def either(*parts: Clauses) -> Clauses:
    """Any of the parts, without clauses that say more than another one."""
    found = list(dict.fromkeys(clause for part in parts for clause in part))
    if frozenset() in found:
        return TRUE
    if len(found) > MAX_COMPARED:
        return tuple(found)
    return tuple(clause for clause in found if not any(other < clause for other in found))


def both(parts: Sequence[Clauses], tidy: Callable[[Clause], Clause | None], spend: Callable[[int], None]) -> Clauses:
    """All of the parts.

    Args:
        parts: What is to hold together.
        tidy: Simplifies a clause; None: nothing satisfies it.
        spend: Is told how many clauses are about to be made.
    """
    whole = TRUE
    for part in sorted(dict.fromkeys(parts), key=len):
        if part == TRUE:
            continue
        spend(len(whole) * len(part))
        joined = (tidy(one | other) for one in whole for other in part)
        whole = either(tuple(clause for clause in joined if clause is not None))
        if not whole:
            break
    return whole
