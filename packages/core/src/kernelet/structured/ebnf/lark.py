r"""Grammars in the syntax of Lark.

Rules are ``name: alternatives`` in small letters, terminals in capitals; the first rule is ``start``. Items are texts
(``"if"i``), ``/regular expressions/imsx``, ranges (``"a".."z"``), names, ``(groups)`` and ``[optional ones]``, with
``* + ? ~n ~n..m`` behind them. Priorities, aliases (``-> name``) and the prefixes ``?`` and ``!`` do not change the
language. What is ignored (``%ignore``) may stand between any two terminals, before the first and behind the last.
``%import common.X`` knows the usual terminals; other imports, templates, ``%declare``, ``%override`` and ``%extend``
are refused by name, lazy repeats too.

A terminal is a regular language. Which of several terminals a text would be is not asked: a text is accepted where it
can be cut into terminals such that the rules derive them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kernelet.contracts.structured import EMPTY, Expression, GrammarRules, Rule
from kernelet.structured.automata import syntax
from kernelet.structured.automata.syntax import Regex
from kernelet.structured.automata.write import expression_of
from kernelet.structured.components import circles, components
from kernelet.structured.ebnf.lark_reader import LarkReader
from kernelet.structured.ebnf.reader import Choice, Item, Reference, Repeated, Sequence, Source, Terminal
from kernelet.structured.expressions import concat_of, repeat_of, union_of
from kernelet.structured.rules import RuleWriter

_START = "start"


def parse_lark(text: str) -> GrammarRules:
    """The rules of a grammar.

    Raises:
        InvalidConstraintError: it does not parse, a rule is missing or there twice, or it derives no text.
        UnenforcedError: it needs what is not enforced.
    """
    reader = LarkReader(text)
    reader.read()
    if _START not in reader.rules:
        reader.source.fail("there is no rule 'start'", 0)
    terminals = _terminals(reader.terminals, reader.source)
    ignored = [_regex(item, terminals, reader.source) for item in reader.ignored]
    return _Writer(reader, terminals, syntax.repeat(syntax.union(*ignored), 0, None)).write()


def _names(item: Item) -> list[Reference]:
    found = []
    waiting = [item]
    for each in waiting:
        if isinstance(each, Reference):
            found.append(each)
        elif isinstance(each, Repeated):
            waiting.append(each.item)
        elif isinstance(each, Sequence | Choice):
            waiting += each.items
    return found


def _terminals(items: dict[str, Item], source: Source) -> dict[str, Regex]:
    graph = {name: [each.name for each in _names(item)] for name, item in items.items()}
    for circle in circles(graph):
        at = next(each.at for each in _names(items[circle[0]]) if each.name in circle)
        source.fail(f"the terminal {circle[0]!r} refers to itself: only rules may", at)
    known: dict[str, Regex] = {}
    for (name,) in components(graph):
        known[name] = _regex(items[name], known, source)
    return known


def _regex(item: Item, terminals: dict[str, Regex], source: Source) -> Regex:
    if isinstance(item, Reference):
        if item.name not in terminals:
            source.fail(f"there is no terminal {item.name!r}", item.at)
        return terminals[item.name]
    if isinstance(item, Terminal):
        return item.regex
    if isinstance(item, Repeated):
        return syntax.repeat(_regex(item.item, terminals, source), item.minimum, item.maximum)
    written = [_regex(each, terminals, source) for each in item.items]
    return syntax.union(*written) if isinstance(item, Choice) else syntax.concat(*written)


@dataclass
class _Writer:
    """Writes rules; behind every terminal stands what is ignored."""

    reader: LarkReader
    terminals: dict[str, Regex]
    ignored: Regex
    rules: RuleWriter = field(default_factory=RuleWriter)
    known: dict[str, Expression] = field(default_factory=dict)

    def write(self) -> GrammarRules:
        rules = self.rules
        self.blank: Expression = EMPTY
        if self.ignored != syntax.EPSILON:
            self.blank = rules.add(expression_of(self.ignored, rules=rules), "ignored")
        names = {name: rules.reserve(name) for name in self.reader.rules}
        for name, item in self.reader.rules.items():
            rules.define(names[name], self._expression(item, names))
        return rules.finish(concat_of(self.blank, names[_START]))

    def _expression(self, item: Item, names: dict[str, Rule]) -> Expression:
        if isinstance(item, Reference):
            return names.get(item.name) or self._terminal(item)
        if isinstance(item, Terminal):
            return concat_of(expression_of(item.regex, rules=self.rules), self.blank)
        if isinstance(item, Repeated):
            return repeat_of(self._expression(item.item, names), item.minimum, item.maximum)
        written = [self._expression(each, names) for each in item.items]
        return union_of(*written) if isinstance(item, Choice) else concat_of(*written)

    def _terminal(self, item: Reference) -> Expression:
        if item.name not in self.terminals:
            kind = "terminal" if item.name.isupper() else "rule"
            self.reader.source.fail(f"there is no {kind} {item.name!r}", item.at)
        if item.name not in self.known:
            written = expression_of(self.terminals[item.name], rules=self.rules)
            self.known[item.name] = concat_of(self.rules.add(written, item.name), self.blank)
        return self.known[item.name]
