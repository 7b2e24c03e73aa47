"""Rules that refer to each other from their ends only, as ``a ::= "x" a | "y"``, are rewritten: they are regular.

llguidance's parser keeps each open rule of such a chain, and closes them all at every character where the text may end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kernelet.contracts.structured import EMPTY, ROOT, Concat, Expression, Repeat, Rule, Union, walk

Branch = tuple[tuple[Expression, ...], str | None]
"""What is read, and the rule of the same component that goes on; None: none does."""


def used(expression: Expression) -> set[str]:
    """The rules that an expression names."""
    return {part.name for part in walk(expression) if isinstance(part, Rule)}


def components(rules: Mapping[str, Expression]) -> list[list[str]]:
    """Rules that refer to each other, together; each set after those that it refers to (Tarjan's algorithm)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    found: list[list[str]] = []
    for start in rules:
        work: list[tuple[str, Iterator[str]]] = [] if start in index else [(start, iter(()))]
        while work:
            name, targets = work[-1]
            if name not in index:
                index[name] = low[name] = len(index)
                stack.append(name)
                on_stack.add(name)
                work[-1] = (name, targets := iter(used(rules[name])))
            for target in targets:
                if target not in index:
                    work.append((target, iter(())))
                    break
                if target in on_stack:
                    low[name] = min(low[name], index[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[name])
                if low[name] == index[name]:
                    place = stack.index(name)
                    found.append(stack[place:])
                    del stack[place:]
                    on_stack.difference_update(found[-1])
    return found


def is_recursive(rules: Mapping[str, Expression], component: list[str]) -> bool:
    """Whether the rules of a component refer to themselves."""
    return len(component) > 1 or component[0] in used(rules[component[0]])


def without_chains(rules: Mapping[str, Expression]) -> dict[str, Expression]:
    """The same language; what was such a chain is a repetition, or grows at its end."""
    result = dict(rules)
    for component in components(rules):
        if not is_recursive(rules, component):
            continue
        branches = {name: branches_of(rules[name], set(component)) for name in component}
        linear = {name: found for name, found in branches.items() if found is not None}
        if len(linear) < len(component):
            continue
        if len(component) == 1:
            result[component[0]] = _repetition(*linear.values())
        else:
            outside = {ROOT}.union(*(used(rules[name]) for name in rules if name not in linear))
            for entry in outside.intersection(component):
                result.update(_growing(entry, linear, rules))
    return _reached(result)


def branches_of(expression: Expression, component: set[str]) -> list[Branch] | None:
    """The ways to read an expression; None: one refers to the component before its end."""
    if not used(expression) & component:
        return [((expression,), None)]
    match expression:
        case Rule(name):
            return [((), name)]
        case Union(items):
            found = [branches_of(item, component) for item in items]
            return None if None in found else [branch for branches in found for branch in branches or ()]
        case Concat(items) if not any(used(item) & component for item in items[:-1]):
            last = branches_of(items[-1], component)
            return last and [((*items[:-1], *read), target) for read, target in last]
        case Repeat(item, 0, 1):
            one = branches_of(item, component)
            return one and [*one, ((), None)]
    return None


def _repetition(branches: list[Branch]) -> Expression:
    """A rule that only refers to itself."""
    again = tuple(Concat(read) for read, target in branches if target is not None and read)
    last = Union(tuple(Concat(read) for read, target in branches if target is None))
    return Concat((Repeat(Union(again), 0, None), last)) if again else last


def _growing(
    entry: str, branches: Mapping[str, list[Branch]], rules: Mapping[str, Expression]
) -> dict[str, Expression]:
    """Rules for the texts after which each rule of a component may go on, if ``entry`` was first."""
    before = {name: _fresh(f"{entry}_before_{name}", rules) for name in branches}
    ways: dict[str, list[Expression]] = {name: [] for name in branches}
    ways[entry].append(EMPTY)
    ends: list[Expression] = []
    for name in branches:
        for read, target in branches[name]:
            way = Concat((Rule(before[name]), *read))
            (ends if target is None else ways[target]).append(way)
    grown: dict[str, Expression] = {before[name]: Union(tuple(found)) for name, found in ways.items() if found}
    return grown | {entry: Union(tuple(ends))}


def _fresh(name: str, rules: Mapping[str, Expression]) -> str:
    while name in rules:
        name += "_"
    return name


def _reached(rules: Mapping[str, Expression]) -> dict[str, Expression]:
    """The rules that the root reaches."""
    found = {ROOT}
    todo = [ROOT]
    while todo:
        new = used(rules[todo.pop()]) - found
        found |= new
        todo.extend(new)
    return {name: expression for name, expression in rules.items() if name in found}
