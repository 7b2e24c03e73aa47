"""Grammar rules as the EBNF that xgrammar reads.

What is regular is written as ``Regex("...")``, which becomes one automaton: xgrammar computes the masks of its states
when it compiles. A token that crosses the end of a rule is tried again at each step, so rules are as large as they can
be; recursion and long repetitions keep rules of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby, pairwise
from typing import Final

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
from kernelet_structured_xgrammar.measure import Measure

PLAIN: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _:,;!<>=@#%&'~`")
"""Characters that mean themselves, in strings, classes and regular expressions; others are written as code points."""

LEAST: Final = (range(0x800, 0x1000), range(0x10000, 0x40000))
"""Characters whose first byte, E0 or F0, has a second that is not 80 at least."""

EDGES: Final = tuple(edge for part in LEAST for edge in (part.start, part.stop))

SHORT: Final[dict[tuple[int, int | None], str]] = {(0, None): "*", (1, None): "+", (1, 1): ""}
"""Not `?`: what begins or ends with a repetition then loses its begin or its end (xgrammar 0.2.9)."""


def ebnf_of(rules: GrammarRules, num_tokens: int) -> str:
    """The same language, a rule a line, as is best for a vocabulary of so many tokens."""
    writer = Writer(rules, num_tokens)
    return "".join(f"{name} ::= {text}\n" for name, text in writer.lines.items())


class Writer:
    """Writes the rules of one grammar.

    Attributes:
        lines: What each rule of the result says, by its name.
    """

    def __init__(self, rules: GrammarRules, num_tokens: int) -> None:
        self._rules = rules.rules
        self._measure = Measure(rules, num_tokens)
        self._automata: dict[str, str] = {}
        self._todo = [ROOT]
        self.lines: dict[str, str] = {}
        while self._todo:
            if _name(name := self._todo.pop()) not in self.lines:
                expression = self._rules[name]
                # xgrammar 0.2.9 overflows its stack at ``root ::= root{0,2}``
                self.lines[_name(name)] = self._line(expression if self._measure.has_text(name) else EMPTY)

    def _line(self, expression: Expression) -> str:
        """What a rule says."""
        return self._automaton(expression) if self._measure.is_automaton(expression) else self.write(expression)

    def write(self, expression: Expression) -> str:
        """An expression that can stand anywhere."""
        if self._measure.is_automaton(expression):
            return self._named(self._automaton(expression))
        match expression:
            case Rule(name):
                self._todo.append(name)
                return _name(name)
            case Concat(items):
                return f"({' '.join(map(self.write, self._joined(items, Concat)))})"
            case Union(items):
                return f"({' | '.join(map(self.write, self._joined(items, Union)))})"
            case Repeat(item, minimum, maximum):
                if self._measure.is_slow(expression):
                    raise ValueError(
                        f"xgrammar is too slow for up to {maximum} repetitions of what is more than one class of "
                        "characters: name another engine, or lower the bound"
                    )
                return f"({self._repeated(item)}){_times(minimum, maximum)}"
        raise AssertionError(expression)  # texts and classes are automata

    def _repeated(self, item: Expression) -> str:
        """What is repeated: a class as such, since xgrammar counts its characters without trying tokens."""
        return _class(item.ranges, _escape) if isinstance(item, Chars) else self.write(item)

    def _joined(self, items: Iterable[Expression], kind: type[Concat | Union]) -> Iterator[Expression]:
        """The items, neighbours that are automata as one."""
        for is_automaton, group in groupby(items, self._measure.is_automaton):
            if is_automaton:
                yield kind(tuple(group))
            else:
                yield from group

    def _automaton(self, expression: Expression) -> str:
        """A rule's right side that is one automaton."""
        regex = self._regex(expression)
        return f'Regex("{"".join(map(_escape, regex))}")' if regex else '""'

    def _named(self, automaton: str) -> str:
        """The name of a rule that is this automaton."""
        if automaton not in self._automata:
            name = self._automata[automaton] = f"x_{len(self._automata)}"
            self.lines[name] = automaton
        return self._automata[automaton]

    def _branch(self, expression: Expression) -> str:
        """One of several: the empty groups keep loops at its begin and its end its own (xgrammar 0.2.9 merges them)."""
        regex = self._regex(expression)
        return regex if isinstance(expression, Text | Chars) else f"(){regex}()"

    def _regex(self, expression: Expression) -> str:
        match expression:
            case Text(text):
                return "".join(map(_escape_regex, text))
            case Chars(ranges):
                return _regex_class(ranges)
            case Rule(name):
                return self._regex(self._rules[name])
            case Concat(items):
                return "".join(map(self._regex, items))
            case Union(items):
                return f"({'|'.join(map(self._branch, items))})"
            case Repeat(item, minimum, maximum):
                return f"({inner}){_times(minimum, maximum)}" if (inner := self._regex(item)) else ""


def _name(name: str) -> str:
    """``true``, ``false`` and names of macros are words of the notation, which none with a prefix is."""
    return ROOT if name == ROOT else f"r_{name}"


def _times(minimum: int, maximum: int | None) -> str:
    if (minimum, maximum) in SHORT:
        return SHORT[minimum, maximum]
    return f"{{{minimum},{'' if maximum is None else maximum}}}"


def _class(ranges: Iterable[tuple[int, int]], escape: Callable[[str], str]) -> str:
    parts = (escape(chr(first)) + (f"-{escape(chr(last))}" if last > first else "") for first, last in ranges)
    return f"[{''.join(parts)}]"


def _regex_class(ranges: Iterable[tuple[int, int]]) -> str:
    """A class in two parts: xgrammar 0.2.9 takes overlong UTF-8 where a range goes on from a part of `LEAST`."""
    parts: dict[bool, list[tuple[int, int]]] = {False: [], True: []}
    for first, last in ranges:
        cuts = sorted({first, last + 1, *(edge for edge in EDGES if first < edge <= last)})
        for begin, end in pairwise(cuts):
            parts[any(begin in part for part in LEAST)].append((begin, end - 1))
    classes = [_class(part, _escape_regex) for part in parts.values() if part]
    return classes[0] if len(classes) == 1 else f"({'|'.join(classes)})"


def _escape(character: str) -> str:
    """A character of a string or a class."""
    return character if character in PLAIN else f"\\U{ord(character):08x}"


def _escape_regex(character: str) -> str:
    """A character of a regular expression."""
    return character if character in PLAIN or ord(character) > 0x7F else f"\\x{ord(character):02x}"
