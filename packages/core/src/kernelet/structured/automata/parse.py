r"""Patterns, read: those of JSON schemas, which are searched, and those that a whole text matches.

Both dialects know alternatives, groups (capturing, named, non-capturing), classes, ``.``, ``* + ? {n} {n,} {n,m}`` and
their lazy forms (a language has no preference), ``^`` and ``$``, the escapes ``\d \w \s \D \W \S``, ``\p{...}`` and
``\P{...}`` of general categories, ``\n \r \t \f \v``, ``\xHH``, ``\uHHHH``, and a backslash before any character
but letters and digits. Neither can have look-around, references to groups, word boundaries, atomic groups or possessive
repeats: those are refused with their place.

``parse_pattern`` reads ECMA-262 with the flag u, as JSON Schema uses it: ``\d``, ``\w`` are ASCII; ``.`` leaves out
line feed, carriage return, U+2028 and U+2029; ``$`` is the very end; ``\u{...}``, ``\cX`` and pairs of surrogates are
known. Where ECMA-262 forbids a lone ``{``, ``}`` or ``]``, or a backslash before a harmless character, it is taken as
what it can only mean.

``parse_regex`` reads Python's ``re`` as ``re.fullmatch`` does: ``\d``, ``\w``, ``\s`` are those of all scripts; ``.``
leaves out the line feed; ``\A``, ``\Z``, ``\a``, ``\UHHHHHHHH``, octal escapes, comments and the flags i, s, x, u
are known; ``\p{...}`` is taken from other dialects. ``$`` before something that may be the text's last line feed is
refused.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NoReturn

from kernelet.structured.automata import alphabet, unicode
from kernelet.structured.automata.alphabet import Ranges
from kernelet.structured.automata.anchors import END, START, Anchored, choice, sequence, times
from kernelet.structured.automata.dialects import ECMA, PYTHON, Dialect, Reader, read_class, read_escape
from kernelet.structured.automata.syntax import Chars, Concat, Regex, Repeat, Union, chars

_LOOKING: Final = ("?=", "?!", "?<=", "?<!")
_SIMPLE_COUNTS: Final = {"*": (0, None), "+": (1, None), "?": (0, 1)}


def parse_pattern(pattern: str) -> Regex:
    """The texts in which a pattern of a JSON schema is found.

    Raises:
        InvalidConstraintError: it does not parse.
        UnenforcedError: it needs what no grammar can enforce.
    """
    return _Parser(Reader(pattern, ECMA), "").parse().searched()


def parse_regex(pattern: str, flags: str = "", *, lazy: bool = True) -> Regex:
    """The texts that the pattern matches as a whole, as Python's ``re.fullmatch``.

    Args:
        pattern: The pattern.
        flags: Any of ``isxu`` that hold from the start.
        lazy: Lazy repeats may be in it; not where it only matches as much as it must (tokens).

    Raises:
        InvalidConstraintError: it does not parse.
        UnenforcedError: it needs what no grammar can enforce.
    """
    return _Parser(Reader(pattern, PYTHON), flags, lazy=lazy).parse().matched()


@dataclass
class _Item:
    """What a sequence has read last.

    Attributes:
        value: Its languages.
        dollar: Where there is a ``$`` of Python's in it, which also holds before a last line feed; else None.
        counts: A count may follow.
    """

    value: Anchored
    dollar: int | None = None
    counts: bool = True


@dataclass
class _Group:
    """A group that has not been closed."""

    start: int
    flags: frozenset[str]
    alternatives: list[_Item] = field(default_factory=list)
    items: list[_Item] = field(default_factory=list)


class _Parser:
    """Keeps open groups in a list: patterns may nest them as deep as they like."""

    def __init__(self, reader: Reader, flags: str, *, lazy: bool = True) -> None:
        self._reader = reader
        self._lazy = lazy
        self._dialect: Dialect = reader.dialect
        self._groups = [_Group(0, frozenset(flags))]

    def parse(self) -> Anchored:
        reader = self._reader
        while reader.at < len(reader.pattern):
            self._read_one()
        if len(self._groups) > 1:
            reader.fail("')' is missing for the group that begins here", self._groups[-1].start)
        return self._close(self._groups[-1]).value

    def _read_one(self) -> None:
        reader, group = self._reader, self._groups[-1]
        start = reader.at
        each = reader.take()
        if each == "(":
            self._open(start)
        elif each == ")":
            if len(self._groups) == 1:
                reader.fail("no group is open that ')' could close", start)
            self._groups.pop()
            self._groups[-1].items.append(self._close(group))
        elif each == "|":
            group.alternatives.append(self._sequence(group))
            group.items = []
        elif each in "*+?":
            self._count(*_SIMPLE_COUNTS[each], start)
        elif each == "{" and self._read_bounds(start):
            pass
        elif each == "^":
            group.items.append(_Item(START, counts=False))
        elif each == "$":
            group.items.append(_Item(END, dollar=start if self._dialect.python else None, counts=False))
        elif each == "\\" and self._dialect.python and reader.peek() in {"A", "Z"}:
            group.items.append(_Item(START if reader.take() == "A" else END, counts=False))
        elif "x" in group.flags and each in " \t\n\r\v\f":
            pass
        elif "x" in group.flags and each == "#":
            end = reader.pattern.find("\n", reader.at)
            reader.at = len(reader.pattern) if end < 0 else end
        else:
            self._read_character(each, start)

    def _read_character(self, each: str, start: int) -> None:
        group = self._groups[-1]
        if each == ".":
            ranges = alphabet.ALL if "s" in group.flags else alphabet.invert(self._dialect.line_ends)
        elif each == "[":
            ranges, negated = read_class(self._reader, start)
            ranges = self._fold(ranges)
            ranges = alphabet.invert(ranges) if negated else ranges
        else:
            read = read_escape(self._reader, in_class=False) if each == "\\" else ord(each)
            ranges = self._fold(((read, read),) if isinstance(read, int) else read)
        group.items.append(_Item(Anchored(free=chars(ranges))))

    def _fold(self, ranges: Ranges) -> Ranges:
        return unicode.fold(ranges) if "i" in self._groups[-1].flags else ranges

    def _open(self, start: int) -> None:
        reader = self._reader
        flags = self._groups[-1].flags
        if reader.peek() == "?":
            for looking in _LOOKING:
                if reader.peek(len(looking)) == looking:
                    reader.refuse("look-around is not supported", start)
            reader.take()
            if reader.skip(":"):
                pass
            elif reader.skip("<" if not self._dialect.python else "P<"):
                if not reader.until(">", start).isidentifier():
                    reader.fail("a group's name consists of letters, digits and _", start)
            elif not self._dialect.python:
                reader.fail("no group begins like this: patterns of ECMA-262 hold no flags", start)
            elif reader.skip("#"):
                reader.until(")", start)
                return
            elif reader.peek() in {"P", "(", ">"}:
                reader.refuse("references to groups, conditions and atomic groups are not supported", start)
            else:
                read = self._read_flags(start)
                if read is None:
                    return
                flags = read
        self._groups.append(_Group(start, flags))

    def _read_flags(self, start: int) -> frozenset[str] | None:
        """Flags of Python: of the group that begins, or (None) of the whole pattern at its start."""
        reader, group = self._reader, self._groups[-1]
        read = {True: set[str](), False: set[str]()}
        sign = True
        while (each := reader.take()) not in {":", ")"}:
            if each == "-" and sign:
                sign = False
            elif each in {"m", "a", "L"}:
                reader.refuse(f"the flag {each} is not supported", start)
            elif each in {"i", "s", "x", "u"}:
                read[sign].add(each)
            else:
                reader.fail("no group begins like this", start)
        flags = (group.flags | read[True]) - read[False]
        if each == ":":
            return flags
        if start > 0 or not sign:
            reader.fail("flags of the whole pattern stand at its start", start)
        group.flags = flags
        return None

    def _read_bounds(self, start: int) -> bool:
        """Reads ``n}``, ``n,}`` or ``n,m}``; False: the brace is a character."""
        reader = self._reader
        end = reader.pattern.find("}", reader.at, reader.at + 50)
        low, comma, high = reader.pattern[reader.at : end].partition(",")
        python = self._dialect.python
        numbers = [each for each in (low, high) if each]
        if end < 0 or not all(each.isascii() and each.isdigit() for each in numbers):
            return False
        if not low and not (python and comma):
            return False
        reader.at = end + 1
        minimum = int(low or 0)
        maximum = (int(high) if high else None) if comma else minimum
        if maximum is not None and maximum < minimum:
            reader.fail("the numbers of a repeat are out of order", start)
        self._count(minimum, maximum, start)
        return True

    def _count(self, minimum: int, maximum: int | None, start: int) -> None:
        reader, items = self._reader, self._groups[-1].items
        if not items or not items[-1].counts:
            reader.fail("there is nothing to repeat", start)
        if reader.skip("?"):  # where all of a text is matched, the language is the same
            if not self._lazy:
                reader.refuse("lazy repeats are not supported here: say what is repeated, as [^x]*x for .*?x", start)
        elif self._dialect.python and reader.peek() == "+":
            reader.refuse("possessive repeats are not supported", start)
        item = items.pop()
        if item.dollar is not None and maximum != 1 and _has_line_feed(item.value.matched()):
            self._refuse_dollar(item.dollar)
        value = times(item.value, minimum, maximum)
        if value is None:
            reader.refuse("an anchor is repeated too often", start)
        items.append(_Item(value, item.dollar, counts=False))

    def _close(self, group: _Group) -> _Item:
        parts = [*group.alternatives, self._sequence(group)]
        dollars = [part.dollar for part in parts if part.dollar is not None]
        return _Item(choice([part.value for part in parts]), dollars[0] if dollars else None)

    def _sequence(self, group: _Group) -> _Item:
        dollar = None
        feed, nullable = False, True  # whether what follows can be one line feed, or empty
        for item in reversed(group.items if self._dialect.python else ()):
            if item.dollar is not None:
                dollar = item.dollar
                if feed:
                    self._refuse_dollar(item.dollar)
            matched = item.value.matched()
            feed = (feed and matched.facts.nullable) or (nullable and _has_line_feed(matched))
            nullable = nullable and matched.facts.nullable
        return _Item(sequence([item.value for item in group.items]), dollar)

    def _refuse_dollar(self, position: int) -> NoReturn:
        self._reader.refuse("'$' before what may be the last line feed is not supported", position)


def _has_line_feed(regex: Regex) -> bool:
    """Whether a plain expression matches a line feed and nothing more."""
    if isinstance(regex, Chars):
        return alphabet.contains(regex.ranges, 10)
    if isinstance(regex, Union):
        return any(map(_has_line_feed, regex.parts))
    if isinstance(regex, Repeat):
        return regex.minimum <= 1 and _has_line_feed(regex.part)
    assert isinstance(regex, Concat)
    needed = [part for part in regex.parts if not part.facts.nullable]
    return len(needed) < 2 and any(map(_has_line_feed, needed or regex.parts))
