"""Expressions of rules, written in their simplest form."""

from __future__ import annotations

from collections.abc import Mapping

from kernelet.contracts.structured import EMPTY, Concat, Expression, Repeat, Rule, Text, Union, walk


def concat_of(*items: Expression) -> Expression:
    """One after the other; neighbouring texts are joined."""
    flat: list[Expression] = []
    for item in items:
        for each in item.items if isinstance(item, Concat) else (item,):
            if isinstance(each, Text) and flat and isinstance(flat[-1], Text):
                flat[-1] = Text(flat[-1].text + each.text)
            else:
                flat.append(each)
    return flat[0] if len(flat) == 1 else Concat(tuple(flat))


def union_of(*items: Expression) -> Expression:
    """Any of at least one; each once."""
    flat = dict.fromkeys(each for item in items for each in (item.items if isinstance(item, Union) else (item,)))
    return next(iter(flat)) if len(flat) == 1 else Union(tuple(flat))


def repeat_of(item: Expression, minimum: int, maximum: int | None) -> Expression:
    """So many times."""
    if maximum == 0 or item == EMPTY:
        return EMPTY
    return item if minimum == maximum == 1 else Repeat(item, minimum, maximum)


def text_of(text: str) -> Expression:
    """Exactly this text, which may be empty."""
    return Text(text) if text else EMPTY


def references(rules: Mapping[str, Expression]) -> dict[str, list[str]]:
    """The rules that each rule names, in order, each once."""
    return {
        name: list(dict.fromkeys(each.name for each in walk(body) if isinstance(each, Rule)))
        for name, body in rules.items()
    }
