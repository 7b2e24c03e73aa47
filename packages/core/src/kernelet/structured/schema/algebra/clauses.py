"""Disjunctions of conjunctions of facts about one type of value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from kernelet.structured.schema.algebra.facts import Fact, Has, Member, negation
from kernelet.structured.schema.algebra.terms import NEVER

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
    found = dict.fromkeys(clause for part in parts for clause in part)
    if frozenset() in found:
        return TRUE
    if len(found) > 1:
        _join_lacking(found)
    if len(found) == 1 or len(found) > MAX_COMPARED:
        return tuple(found)
    return tuple(clause for clause in found if not any(other < clause for other in found))


def _join_lacking(found: dict[Clause, None]) -> None:
    """That there is no such property, or one that satisfies something, is one fact: ``Member`` says just that."""
    lacking = [
        (clause, fact) for clause in found for fact in clause if isinstance(fact, Member) and fact.literal == NEVER
    ]
    for clause, lack in lacking:
        if clause not in found:
            continue
        rest = clause - {lack}
        for other in found:
            if len(other) == len(rest) + 2 and rest < other:
                has, member = sorted(other - rest, key=lambda fact: isinstance(fact, Member))
                if isinstance(has, Has) and isinstance(member, Member) and has.name == member.name == lack.name:
                    joined = rest | {member}
                    del found[clause], found[other]
                    found[joined] = None
                    break


def both(parts: Sequence[Clauses], tidy: Callable[[Clause], Clause | None], spend: Callable[[int], None]) -> Clauses:
    """All of the parts.

    Args:
        parts: What is to hold together.
        tidy: Simplifies a clause; None: nothing satisfies it.
        spend: Is told how many clauses are about to be made.
    """
    if FALSE in parts:
        return FALSE
    left = sorted(dict.fromkeys(part for part in parts if part != TRUE), key=len)
    whole = left[0] if left and len(left[0]) == 1 else TRUE
    for part in left[whole is not TRUE :]:
        spend(len(whole) * len(part))
        joined = (tidy(one | other) for one in whole for other in part)
        whole = either(tuple(clause for clause in joined if clause is not None))
        if not whole:
            break
    return whole
