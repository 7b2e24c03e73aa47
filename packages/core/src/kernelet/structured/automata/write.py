"""Regular languages, written as rules."""

from __future__ import annotations

from collections.abc import Callable

from kernelet.contracts import structured as rules_of
from kernelet.contracts.structured import Expression, GrammarRules
from kernelet.structured.automata.alphabet import Ranges
from kernelet.structured.automata.budget import Budget
from kernelet.structured.automata.dfa import determinize
from kernelet.structured.automata.eliminate import regex_of
from kernelet.structured.automata.syntax import (
    Both,
    Chars,
    Complement,
    Concat,
    Facts,
    Named,
    Regex,
    Repeat,
    Union,
)
from kernelet.structured.expressions import concat_of, repeat_of, union_of
from kernelet.structured.refusal import InvalidConstraintError
from kernelet.structured.rules import RuleWriter

WriteCharacter = Callable[[Ranges], Expression]


def write_character(ranges: Ranges) -> Expression:
    """One character of a class, as itself."""
    (first, last), *more = ranges
    return rules_of.Text(chr(first)) if first == last and not more else rules_of.Chars(ranges)


def expression_of(
    regex: Regex, character: WriteCharacter = write_character, rules: RuleWriter | None = None
) -> Expression:
    """A grammar for the language.

    What has no intersection and no complement in it is written as it stands; repeats stay counted. The rest becomes a
    deterministic automaton, which is written as an expression where that is short, else as rules that name each other.

    Args:
        regex: The language.
        character: Writes a class of characters.
        rules: Where long expressions that are needed in several places become rules; None: there are no rules.

    Raises:
        InvalidConstraintError: there is no text in the language.
        TooLargeError: the automaton gets too large, or without ``rules`` the expression.
    """
    written = _Writer(character, rules).write(regex)
    if written is None:
        raise InvalidConstraintError("there is no text that the regular expressions allow")
    return written


def rules_of_regex(regex: Regex) -> GrammarRules:
    """The texts of a language.

    Raises:
        InvalidConstraintError: there are none.
        TooLargeError: it is too large.
    """
    rules = RuleWriter()
    return rules.finish(expression_of(regex, rules=rules))


class _Writer:
    """Is the ``Names`` of automata that it writes, too."""

    def __init__(self, character: WriteCharacter, rules: RuleWriter | None) -> None:
        self._character = character
        self._rules = rules
        self._characters: dict[Ranges, Expression] = {}

    def write(self, regex: Regex) -> Expression | None:
        """None: there is no text in the language."""
        if isinstance(regex, Chars):
            return self._class(regex.ranges)
        if isinstance(regex, Concat):
            items = [self.write(part) for part in regex.parts]
            known = [each for each in items if each is not None]
            return concat_of(*known) if len(known) == len(items) else None
        if isinstance(regex, Union):
            known = [each for part in regex.parts if (each := self.write(part)) is not None]
            return union_of(*known) if known else None
        if isinstance(regex, Repeat):
            item = self.write(regex.part)
            if item is None:
                return None if regex.minimum else rules_of.EMPTY
            return repeat_of(item, regex.minimum, regex.maximum)
        if isinstance(regex, Named):
            return rules_of.Rule(regex.name)
        return self._write_joined(regex)

    def _class(self, ranges: Ranges) -> Expression | None:
        if not ranges:
            return None
        if ranges not in self._characters:
            self._characters[ranges] = self._character(ranges)
        return self._characters[ranges]

    def _write_joined(self, regex: Both | Complement) -> Expression | None:
        dfa = determinize(regex, Budget())
        return self.write(regex_of(dfa, None if self._rules is None else self)) if dfa.accepting else None

    def reserve(self, *, nullable: bool) -> Named:
        assert self._rules is not None
        name = self._rules.reserve("text").name
        return Named(name, Facts(nullable=nullable, shortest=0 if nullable else 1, longest=None))

    def define(self, name: Named, regex: Regex) -> None:
        assert self._rules is not None
        written = self.write(regex)
        assert written is not None, "states from which nothing is accepted have been dropped"
        self._rules.define(rules_of.Rule(name.name), written)
