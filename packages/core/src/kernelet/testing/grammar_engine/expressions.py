"""Questions about rules."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping

from kernelet.contracts.structured import ROOT, Chars, Concat, Expression, GrammarRules, Repeat, Rule, Text, Union, walk


def proper(rules: Mapping[str, Expression]) -> GrammarRules:
    """The same with as little added as makes every rule derive a text and none itself alone, less what is unused."""
    made = dict(rules)
    while endless := sorted(set(made) - _productive(made)):
        made[endless[0]] = Union((made[endless[0]], Text("b")))
    nullable = _nullable(made)
    for name in rules:
        alone = {other: _alone(expression, nullable) for other, expression in made.items()}
        if name in _reached(alone, alone[name]):
            made[name] = Concat((Text("("), made[name]))
    uses = {name: set(names_in(expression)) for name, expression in made.items()}
    used = _reached(uses, {ROOT})
    return GrammarRules({name: expression for name, expression in made.items() if name in used})


def count(rules: GrammarRules) -> int:
    """Expressions of all rules together."""
    return sum(1 for expression in rules.rules.values() for _ in walk(expression))


def names_in(expression: Expression) -> Iterator[str]:
    """The rules that an expression refers to."""
    return (part.name for part in walk(expression) if isinstance(part, Rule))


def changed(expression: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """An expression in which each, from the inside out, is what ``change`` makes of it."""
    if isinstance(expression, Repeat):
        expression = Repeat(changed(expression.item, change), expression.minimum, expression.maximum)
    elif isinstance(expression, Concat | Union):
        expression = type(expression)(tuple(changed(item, change) for item in expression.items))
    return change(expression)


def _reached(edges: Mapping[str, set[str]], start: set[str]) -> set[str]:
    found: set[str] = set()
    todo = list(start)
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += edges[name]
    return found


def _productive(rules: Mapping[str, Expression]) -> set[str]:
    return _least(rules, leaf=True)


def _nullable(rules: Mapping[str, Expression]) -> set[str]:
    return _least(rules, leaf=False)


def _least(rules: Mapping[str, Expression], *, leaf: bool) -> set[str]:
    """Names of the rules that hold, where characters do if ``leaf``."""
    found: set[str] = set()
    for _ in rules:
        found = {name for name, expression in rules.items() if _holds(expression, found, leaf=leaf)}
    return found


def _holds(expression: Expression, names: set[str], *, leaf: bool) -> bool:
    if isinstance(expression, Text | Chars):
        return leaf
    if isinstance(expression, Rule):
        return expression.name in names
    if isinstance(expression, Repeat):
        return expression.minimum == 0 or _holds(expression.item, names, leaf=leaf)
    found = [_holds(item, names, leaf=leaf) for item in expression.items]
    return any(found) if isinstance(expression, Union) else all(found)


def _alone(expression: Expression, nullable: set[str]) -> set[str]:
    """The rules that can stand for all of an expression."""
    if isinstance(expression, Rule):
        return {expression.name}
    if isinstance(expression, Repeat):
        once = expression.minimum <= 1 or _holds(expression.item, nullable, leaf=False)
        return _alone(expression.item, nullable) if once else set()
    if isinstance(expression, Union):
        return {name for item in expression.items for name in _alone(item, nullable)}
    if isinstance(expression, Concat):
        empty = [_holds(item, nullable, leaf=False) for item in expression.items]
        return {
            name
            for place, item in enumerate(expression.items)
            if all(empty[:place] + empty[place + 1 :])
            for name in _alone(item, nullable)
        }
    return set()


def words(letters: str, longest: int) -> Iterator[str]:
    """All texts of some letters, up to a length."""
    for size in range(longest + 1):
        yield from map("".join, itertools.product(letters, repeat=size))
