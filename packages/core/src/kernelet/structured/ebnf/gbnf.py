r"""Grammars with ``::=``.

Rules are ``name ::= alternatives``, the first is ``root``; names have letters, digits, ``-`` and ``_``. Items are
texts in quotes, classes (``[a-z]``, ``[^"\\]``), ``.`` for any character, names, and groups, with ``* + ? {m} {m,n}
{m,}`` behind them. A rule ends where the next one begins; ``#`` begins a comment. Rules may refer to themselves in any
way. Look-ahead and tokens by name are refused.
"""

from __future__ import annotations

import re
from typing import Final

from kernelet.contracts.structured import Expression, GrammarRules, Rule
from kernelet.structured.automata import alphabet
from kernelet.structured.automata.syntax import ANY, NOTHING, chars, literal
from kernelet.structured.automata.write import expression_of
from kernelet.structured.ebnf.reader import Choice, Item, Reader, Reference, Repeated, Source, Terminal
from kernelet.structured.expressions import concat_of, repeat_of, union_of
from kernelet.structured.rules import RuleWriter

NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
HEADER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*\s*::=")
_ROOT: Final = "root"
_IN_QUOTES: Final = "\\\"'[]/"
_IN_CLASSES: Final = "\\\"'[]/-^"


def parse_gbnf(text: str) -> GrammarRules:
    """The rules of a grammar.

    Raises:
        InvalidConstraintError: it does not parse, a rule is missing or there twice, or it derives no text.
        UnenforcedError: it needs what is not enforced.
    """
    reader = _GbnfReader(text)
    rules = reader.rules()
    if _ROOT not in rules:
        reader.source.fail("there is no rule 'root'", 0)
    writer = RuleWriter()
    names = {name: writer.reserve(name) for name in rules}
    for name, item in rules.items():
        writer.define(names[name], _expression(item, names, reader.source))
    return writer.finish(names[_ROOT])


def _expression(item: Item, names: dict[str, Rule], source: Source) -> Expression:
    if isinstance(item, Reference):
        if item.name not in names:
            source.fail(f"there is no rule {item.name!r}", item.at)
        return names[item.name]
    if isinstance(item, Terminal):
        return expression_of(item.regex)
    if isinstance(item, Repeated):
        return repeat_of(_expression(item.item, names, source), item.minimum, item.maximum)
    written = [_expression(each, names, source) for each in item.items]
    return union_of(*written) if isinstance(item, Choice) else concat_of(*written)


class _GbnfReader(Reader):
    def rules(self) -> dict[str, Item]:
        source = self.source
        rules: dict[str, Item] = {}
        self.blank()
        while not source.is_done:
            start = source.at
            if not HEADER.match(source.text, start):
                source.fail("a rule is expected: name ::= ...")
            name = self._name()
            if name in rules:
                source.fail(f"the rule {name!r} is there twice", start)
            self.blank()
            source.skip("::=")
            rules[name] = self.alternatives()
            if not self.ends():
                source.fail(f"{source.peek()!r} closes nothing or means nothing here")
        return rules

    def _name(self) -> str:
        found = NAME.match(self.source.text, self.source.at)
        if found is None:
            self.source.fail(f"{self.source.peek()!r} means nothing here")
        self.source.at = found.end()
        return found[0]

    def blank(self) -> None:
        source = self.source
        while not source.is_done:
            if source.peek() == "#":
                end = source.text.find("\n", source.at)
                source.at = len(source.text) if end < 0 else end
            elif source.peek().isspace():
                source.at += 1
            else:
                return

    def ends(self) -> bool:
        return self.source.is_done or HEADER.match(self.source.text, self.source.at) is not None

    def atom(self) -> Item:
        source = self.source
        start = source.at
        if source.skip("("):
            if source.peek() in {"=", "!"}:
                source.refuse("look-ahead is not supported", start)
            return self.bracketed(")")
        if source.peek() in {'"', "'"}:
            return Terminal(literal(self.quoted(source.take(), _IN_QUOTES)), start)
        if source.skip("["):
            return self._class(start)
        if source.skip("."):
            return Terminal(ANY, start)
        if source.peek() == "<":
            source.refuse("tokens by name or number are not supported", start)
        return Reference(self._name(), start)

    def _class(self, start: int) -> Item:
        source = self.source
        negated = source.skip("^")
        ranges = []
        while not source.skip("]"):
            first = last = self._member(start)
            if source.peek() == "-" and source.peek(2) != "-]":
                at = source.at
                source.take()
                last = self._member(start)
                if last < first:
                    source.fail("this is no range of characters", at)
            ranges.append((ord(first), ord(last)))
        regex = chars(alphabet.invert(alphabet.normalize(ranges)) if negated else ranges)
        if regex == NOTHING:
            source.fail("there is no character in this class", start)
        return Terminal(regex, start)

    def _member(self, start: int) -> str:
        each = self.source.take()
        if not each or each == "\n":
            self.source.fail("']' is missing for the class that begins here", start)
        return self.source.escape(_IN_CLASSES) if each == "\\" else each

    def count(self) -> tuple[int, int | None] | None:
        source = self.source
        start = source.at
        each = source.peek()
        if each and each in "*+?":
            source.take()
            return (1 if each == "+" else 0, 1 if each == "?" else None)
        if not source.skip("{"):
            return None
        self.blank()
        low = source.number()
        high = low
        self.blank()
        if source.skip(","):
            self.blank()
            high = source.number()
            self.blank()
        elif low is None:
            source.fail("a count is {m}, {m,} or {m,n}", start)
        if not source.skip("}"):
            source.fail("a count is {m}, {m,} or {m,n}", start)
        if high is not None and high < (low or 0):
            source.fail("the numbers of a repeat are out of order", start)
        return low or 0, high
