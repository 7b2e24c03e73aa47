"""Rules of a language: made, tidied, measured and sent."""

from __future__ import annotations

import hashlib
import re
from typing import Final

import msgspec

from kernelet.contracts.structured import ROOT, Expression, GrammarEngineOffer, GrammarRules, Repeat, Rule, walk
from kernelet.structured.components import circles
from kernelet.structured.expressions import references
from kernelet.structured.tidy import tidy

__all__ = [
    "RuleWriter",
    "count_expressions",
    "decode",
    "digest",
    "encode",
    "fits",
    "is_recursive",
    "largest_repeat",
    "recursive_rules",
    "tidy",
]

_UNNAMED: Final = "part"


class RuleWriter:
    """Collects rules under names of its own."""

    def __init__(self) -> None:
        self._rules: dict[str, Expression | None] = {ROOT: None}

    def reserve(self, hint: str = _UNNAMED) -> Rule:
        """A rule that is to be defined; its name is like ``hint``."""
        name = re.sub(r"[^a-z0-9_]+", "_", hint.lower()).strip("_")[:40] or _UNNAMED
        name = name if name[0].isalpha() else f"{_UNNAMED}_{name}"
        free, number = name, 2
        while free in self._rules:
            # many rules of one name: do not try all numbers again
            free, number = f"{name}_{max(number, len(self._rules))}", max(number, len(self._rules)) + 1
        self._rules[free] = None
        return Rule(free)

    def define(self, rule: Rule, expression: Expression) -> None:
        self._rules[rule.name] = expression

    def add(self, expression: Expression, hint: str = _UNNAMED) -> Rule:
        """A new rule that says this."""
        rule = self.reserve(hint)
        self.define(rule, expression)
        return rule

    def finish(self, root: Expression) -> GrammarRules:
        """All rules that ``root`` needs, tidied.

        Raises:
            InvalidConstraintError: there is no text that ``root`` derives.
        """
        self.define(Rule(ROOT), root)
        return tidy(GrammarRules({name: each for name, each in self._rules.items() if each is not None}))


# --- measures ------------------------------------------------------------------------------------


def count_expressions(rules: GrammarRules) -> int:
    """Of all rules together, those within others too."""
    return sum(1 for body in rules.rules.values() for _ in walk(body))


def recursive_rules(rules: GrammarRules) -> frozenset[str]:
    """Rules that refer to themselves, if through others."""
    return frozenset(name for circle in circles(references(rules.rules)) for name in circle)


def is_recursive(rules: GrammarRules) -> bool:
    return bool(recursive_rules(rules))


def largest_repeat(rules: GrammarRules) -> int:
    """The largest finite bound of a repeat; 0 where there is none."""
    repeats = (each for body in rules.rules.values() for each in walk(body) if isinstance(each, Repeat))
    return max((each.minimum if each.maximum is None else each.maximum for each in repeats), default=0)


def fits(offer: GrammarEngineOffer, rules: GrammarRules) -> str | None:
    """Why an engine does not enforce these rules; None: it does."""
    if not offer.recursion and (recursive := recursive_rules(rules)):
        return f"it has no rules that refer to themselves, as {min(recursive)!r} does"
    repeat = largest_repeat(rules)
    if offer.max_repeat is not None and repeat > offer.max_repeat:
        return f"it repeats a part at most {offer.max_repeat} times, not {repeat}"
    if offer.max_expressions is not None and (count := count_expressions(rules)) > offer.max_expressions:
        return f"it takes at most {offer.max_expressions} expressions, not {count}"
    return None


# --- bytes ---------------------------------------------------------------------------------------


def encode(rules: GrammarRules) -> bytes:
    """The same for the same rules, in whatever order they came."""
    return msgspec.msgpack.encode(GrammarRules(dict(sorted(rules.rules.items()))))


def decode(data: bytes) -> GrammarRules:
    return msgspec.msgpack.decode(data, type=GrammarRules)


def digest(rules: GrammarRules) -> str:
    return hashlib.sha256(encode(rules)).hexdigest()
