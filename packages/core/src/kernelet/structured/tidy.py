"""Rules get the guarantees that engines rely on."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kernelet.contracts.structured import (
    EMPTY,
    ROOT,
    Chars,
    Concat,
    Expression,
    GrammarRules,
    Repeat,
    Rule,
    Text,
    Union,
)
from kernelet.structured.components import circles
from kernelet.structured.expressions import concat_of, references, repeat_of, union_of
from kernelet.structured.refusal import InvalidConstraintError, Refusal, UnenforcedError

Rules = dict[str, Expression]


def tidy(rules: GrammarRules) -> GrammarRules:
    """Rules of the same language with the guarantees of ``GrammarRules``.

    Rules and alternatives that derive no text are dropped, and what the root does not reach; rules that say only the
    name of another, one character or one text are written out where they are named.

    Raises:
        InvalidConstraintError: the root derives no text.
        UnenforcedError: a rule derives itself from itself alone in a way that cannot be left out.
    """
    missing = {name for names in references(rules.rules).values() for name in names} - set(rules.rules)
    if missing:
        raise ValueError(f"rules are named that are not there: {', '.join(sorted(missing))}")
    kept = _without_dead_ends(rules.rules)
    kept = _without_short_circles(_reached(kept))
    kept = _reached(_without_trivial(kept))
    return GrammarRules(kept)


def rewrite(expression: Expression, leaf: Callable[[Expression], Expression | None]) -> Expression | None:
    """With every text, set of characters and rule replaced; None: there is no text."""
    if isinstance(expression, Concat):
        items = [rewrite(each, leaf) for each in expression.items]
        known = [each for each in items if each is not None]
        return concat_of(*known) if len(known) == len(items) else None
    if isinstance(expression, Union):
        known = [each for item in expression.items if (each := rewrite(item, leaf)) is not None]
        return union_of(*known) if known else None
    if isinstance(expression, Repeat):
        inner = rewrite(expression.item, leaf)
        if inner is None:
            return EMPTY if expression.minimum == 0 else None
        return repeat_of(inner, expression.minimum, expression.maximum)
    return leaf(expression)


def _fixpoint(rules: Mapping[str, Expression], holds: Callable[[Expression, set[str]], bool]) -> set[str]:
    """The rules for which something holds, where it holds for them because of others for which it does."""
    users: dict[str, list[str]] = {}
    for name, names in references(rules).items():
        for each in names:
            users.setdefault(each, []).append(name)
    found: set[str] = set()
    waiting = list(rules)
    while waiting:
        name = waiting.pop()
        if name not in found and holds(rules[name], found):
            found.add(name)
            waiting += users.get(name, ())
    return found


def _derives(expression: Expression, known: set[str]) -> bool:
    """Whether it derives some text, given the rules that do."""
    if isinstance(expression, Concat):
        return all(_derives(each, known) for each in expression.items)
    if isinstance(expression, Union):
        return any(_derives(each, known) for each in expression.items)
    if isinstance(expression, Repeat):
        return expression.minimum == 0 or _derives(expression.item, known)
    return expression.name in known if isinstance(expression, Rule) else True


def is_nullable(expression: Expression, known: set[str]) -> bool:
    """Whether it derives the empty text, given the rules that do."""
    if isinstance(expression, Concat):
        return all(is_nullable(each, known) for each in expression.items)
    if isinstance(expression, Union):
        return any(is_nullable(each, known) for each in expression.items)
    if isinstance(expression, Repeat):
        return expression.minimum == 0 or is_nullable(expression.item, known)
    return isinstance(expression, Rule) and expression.name in known


def _without_dead_ends(rules: Mapping[str, Expression]) -> Rules:
    alive = _fixpoint(rules, _derives)
    if ROOT not in alive:
        raise InvalidConstraintError("there is no text that the constraint allows")

    def leaf(each: Expression) -> Expression | None:
        return None if isinstance(each, Rule) and each.name not in alive else each

    return {name: body for name in rules if name in alive and (body := rewrite(rules[name], leaf)) is not None}


def _reached(rules: Mapping[str, Expression]) -> Rules:
    graph = references(rules)
    reached = {ROOT: None}
    for name in (waiting := [ROOT]):
        new = [each for each in graph[name] if each not in reached]
        reached.update(dict.fromkeys(new))
        waiting += new
    return {name: rules[name] for name in reached}


# --- rules that derive themselves from themselves alone --------------------------------------------


def _alone(expression: Expression, nullable: set[str]) -> set[str]:
    """Rules that stand in it such that all the rest may be empty."""
    if isinstance(expression, Rule):
        return {expression.name}
    if isinstance(expression, Repeat):
        # of several times, all but one may be empty: as many as must be there
        alone = expression.minimum <= 1 or is_nullable(expression.item, nullable)
        return _alone(expression.item, nullable) if alone else set()
    if isinstance(expression, Union):
        return {name for each in expression.items for name in _alone(each, nullable)}
    if isinstance(expression, Concat):
        needed = [each for each in expression.items if not is_nullable(each, nullable)]
        if len(needed) > 1:
            return set()
        return {name for each in needed or expression.items for name in _alone(each, nullable)}
    return set()


def _alternatives(expression: Expression) -> tuple[Expression, ...]:
    if isinstance(expression, Repeat) and (expression.minimum, expression.maximum) == (0, 1):
        return (EMPTY, *_alternatives(expression.item))
    if isinstance(expression, Union):
        return tuple(each for item in expression.items for each in _alternatives(item))
    return (expression,)


def _without_short_circles(rules: Rules) -> Rules:
    """Rules that are alternatives of one another say the same: one of them stays, without naming itself."""
    nullable = _fixpoint(rules, is_nullable)
    names: dict[str, str] = {}
    changed = dict(rules)
    for circle in circles({name: _alone(body, nullable) for name, body in rules.items()}):
        kept = ROOT if ROOT in circle else circle[0]
        inside = set(circle)
        bodies = dict.fromkeys(each for name in circle for each in _alternatives(rules[name]))
        rest = [each for each in bodies if not (isinstance(each, Rule) and each.name in inside)]
        if any(_alone(each, nullable) & inside for each in rest) or not _is_plain_circle(rules, circle):
            raise UnenforcedError(
                [Refusal(f"rule {kept}", "it derives itself from itself and nothing else: write it without that")]
            )
        names |= dict.fromkeys(circle, kept)
        changed[kept] = union_of(*rest)

    def leaf(each: Expression) -> Expression:
        return Rule(names.get(each.name, each.name)) if isinstance(each, Rule) else each

    return {
        name: body
        for name in rules
        if names.get(name, name) == name and (body := rewrite(changed[name], leaf)) is not None
    }


def _is_plain_circle(rules: Rules, circle: list[str]) -> bool:
    """Each rule of the circle has each other as an alternative, if through others."""
    inside = set(circle)
    plain = {
        name: [each.name for each in _alternatives(rules[name]) if isinstance(each, Rule) and each.name in inside]
        for name in circle
    }
    return [len(each) for each in circles(plain)] == [len(circle)]


# --- rules that say little -----------------------------------------------------------------------


def _without_trivial(rules: Rules) -> Rules:
    small = {
        name: body
        for name, body in rules.items()
        if name != ROOT and (body == EMPTY or isinstance(body, Rule | Text | Chars))
    }

    def leaf(each: Expression) -> Expression:
        while isinstance(each, Rule) and each.name in small:
            each = small[each.name]
        return each

    written = {name: body for name in rules if (body := rewrite(rules[name], leaf)) is not None}
    root = written[ROOT]
    if isinstance(root, Rule) and sum(root.name in names for names in references(written).values()) == 1:
        written[ROOT] = written[root.name]
    return written
