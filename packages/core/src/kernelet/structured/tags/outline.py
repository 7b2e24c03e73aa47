"""What a text is made of, before it becomes states: fixed texts, tokens, rules, free text, and how they follow."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from kernelet.contracts.structured import EMPTY, Chars, Concat, Expression, GrammarRules, Repeat, Rule, Text, Union
from kernelet.request.structured import Marker
from kernelet.structured.expressions import concat_of, repeat_of, text_of, union_of
from kernelet.structured.rules import RuleWriter


@dataclass(frozen=True)
class Words:
    """Exactly this text; never empty."""

    text: str


@dataclass(frozen=True)
class Token:
    """Exactly this token, whose text is ``text``."""

    text: str
    token_id: int


@dataclass(frozen=True, eq=False)
class Ruled:
    """A text that rules derive."""

    rules: GrammarRules


@dataclass(frozen=True)
class Anything:
    """Free text, up to what follows.

    Attributes:
        excludes: What must not come in it.
    """

    excludes: tuple[Marker, ...] = ()


@dataclass(frozen=True)
class Series:
    """One after the other."""

    items: tuple[Node, ...]


@dataclass(frozen=True)
class Choice:
    """Any one of at least one."""

    items: tuple[Node, ...]


@dataclass(frozen=True)
class Many:
    """Items with a separator between two.

    Attributes:
        item: May be another one each time.
        separator: Empty: they follow directly.
        optional: There may be none.
    """

    item: Node
    separator: Series = Series(())
    optional: bool = False


@dataclass(frozen=True)
class Triggered:
    """Free text in which items begin at triggers.

    Attributes:
        triggers: Texts or tokens; each item begins with one of them.
        items: What may come.
        required: An item comes first, without text before it.
        once: Nothing comes behind an item.
        excludes: What must not come in the text.
    """

    triggers: tuple[Words | Token, ...]
    items: tuple[Series, ...]
    required: bool = False
    once: bool = False
    excludes: tuple[Marker, ...] = ()


Node = Words | Token | Ruled | Anything | Series | Choice | Many | Triggered


def series_of(text: str, tokens: Mapping[str, int]) -> Series:
    """A fixed text, of which some parts are tokens of the vocabulary.

    Args:
        text: May be empty.
        tokens: Texts that are one token; of two that begin alike, the longer one counts.
    """
    if not tokens:
        return Series((Words(text),) if text else ())
    names = sorted(tokens, key=len, reverse=True)
    parts = re.split(f"({'|'.join(map(re.escape, names))})", text)
    return Series(tuple(Token(part, tokens[part]) if part in tokens else Words(part) for part in parts if part))


def flat(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    """Without series in it; neighbouring texts are joined."""
    found: list[Node] = []
    for node in nodes:
        for each in flat(node.items) if isinstance(node, Series) else (node,):
            last = found[-1] if found else None
            if isinstance(each, Words) and isinstance(last, Words):
                found[-1] = Words(last.text + each.text)
            else:
                found.append(each)
    return tuple(found)


def behind(head: Words | Token, node: Node) -> tuple[Node, ...] | None:
    """What follows a head; None: the node begins otherwise."""
    nodes = flat((node,))
    first = nodes[0] if nodes else None
    if first == head:
        return nodes[1:]
    if isinstance(first, Words) and isinstance(head, Words) and first.text.startswith(head.text):
        return (Words(first.text[len(head.text) :]), *nodes[1:])
    return None


def is_ruled(node: Node) -> bool:
    """Whether rules can say all of it."""
    match node:
        case Words() | Ruled():
            return True
        case Series(items) | Choice(items):
            return all(map(is_ruled, items))
        case Many(item, separator):
            return is_ruled(item) and is_ruled(separator)
    return False


def written(node: Node, writer: RuleWriter) -> Expression:
    """A node that rules can say, as an expression."""
    match node:
        case Words(text):
            return text_of(text)
        case Ruled(rules):
            return _copied(rules, writer)
        case Series(items):
            return concat_of(*(written(item, writer) for item in items))
        case Choice(items):
            return union_of(*(written(item, writer) for item in items))
        case Many(item, separator, optional):
            one, between = writer.add(written(item, writer), "item"), written(separator, writer)
            more = concat_of(one, repeat_of(concat_of(between, one), 0, None))
            return union_of(more, EMPTY) if optional else more
    raise TypeError(f"{node} is no part of rules")


def _copied(rules: GrammarRules, writer: RuleWriter) -> Rule:
    """Rules among those of another language, under other names."""
    names = {name: writer.reserve(name) for name in rules.rules}

    def renamed(expression: Expression) -> Expression:
        match expression:
            case Rule(name):
                return names[name]
            case Concat(items):
                return Concat(tuple(map(renamed, items)))
            case Union(items):
                return Union(tuple(map(renamed, items)))
            case Repeat(item, minimum, maximum):
                return Repeat(renamed(item), minimum, maximum)
            case Text() | Chars():
                return expression
        raise TypeError(expression)

    for name, expression in rules.rules.items():
        writer.define(names[name], renamed(expression))
    return names["root"]
