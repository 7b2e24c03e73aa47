"""What differs between the dialects of regular expressions, and how both write characters and classes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NoReturn

from kernelet.structured.automata import alphabet, unicode
from kernelet.structured.automata.alphabet import Ranges
from kernelet.structured.refusal import InvalidConstraintError, Refusal, UnenforcedError

_DIGITS: Final = ((0x30, 0x39),)
_WORD: Final = alphabet.normalize([(0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)])
_SPACES: Final = alphabet.normalize(
    [
        *((9, 13), (0x20, 0x20), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A)),
        *((0x2028, 0x2029), (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000), (0xFEFF, 0xFEFF)),
    ]
)
_CONTROL: Final = {"n": 10, "r": 13, "t": 9, "f": 12, "v": 11}
_HEX: Final = frozenset("0123456789abcdefABCDEF")
_OCTAL: Final = frozenset("01234567")


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """A dialect.

    Attributes:
        python: It is that of Python's ``re``; else ECMA-262's with the flag u.
        line_ends: What ``.`` leaves out.
    """

    python: bool
    line_ends: Ranges

    @lru_cache(maxsize=16)  # noqa: B019 - there are two dialects
    def shorthand(self, name: str) -> Ranges:
        r"""The characters of ``\d``, ``\w``, ``\s``."""
        if not self.python:
            return {"d": _DIGITS, "w": _WORD, "s": _SPACES}[name]
        if name == "d":
            return unicode.property_of("Nd") or ()
        if name == "s":
            return unicode.where("isspace")
        return alphabet.unite((unicode.where("isalnum"), ((0x5F, 0x5F),)))


ECMA: Final = Dialect(python=False, line_ends=((0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029)))
PYTHON: Final = Dialect(python=True, line_ends=((0x0A, 0x0A),))


class Reader:
    """A pattern and where its reading stands."""

    def __init__(self, pattern: str, dialect: Dialect) -> None:
        self.pattern = pattern
        self.dialect = dialect
        self.at = 0

    def peek(self, length: int = 1) -> str:
        return self.pattern[self.at : self.at + length]

    def take(self, length: int = 1) -> str:
        taken = self.peek(length)
        self.at += len(taken)
        return taken

    def skip(self, text: str) -> bool:
        """Whether this comes next; then it is read."""
        found = self.pattern.startswith(text, self.at)
        if found:
            self.at += len(text)
        return found

    def until(self, end: str, start: int) -> str:
        """What stands before the next ``end``, which is read too."""
        stop = self.pattern.find(end, self.at)
        if stop < 0:
            self.fail(f"{end!r} is missing for what begins here", start)
        text, self.at = self.pattern[self.at : stop], stop + len(end)
        return text

    def fail(self, reason: str, at: int | None = None) -> NoReturn:
        """The pattern is wrong here."""
        raise InvalidConstraintError(reason, f"regex, character {(self.at if at is None else at) + 1}")

    def refuse(self, reason: str, at: int) -> NoReturn:
        """The pattern means something here that no grammar can hold an answer to."""
        raise UnenforcedError([Refusal(f"regex, character {at + 1}", reason)])


def read_escape(reader: Reader, *, in_class: bool) -> Ranges | int:
    """Reads what follows a backslash that has been read: a set of characters, or one, by its code point."""
    start = reader.at - 1
    name = reader.take()
    if not name:
        reader.fail("nothing follows the backslash", start)
    if name in "dwsDWS":
        ranges = reader.dialect.shorthand(name.lower())
        return alphabet.invert(ranges) if name.isupper() else ranges
    if name in "pP":
        return _read_property(reader, start, negated=name == "P")
    if name in "bB":
        if in_class and name == "b":
            return 8
        reader.refuse("word boundaries are not supported", start)
    return _read_character(reader, name, start, in_class=in_class)


def _read_property(reader: Reader, start: int, *, negated: bool) -> Ranges:
    if not reader.skip("{"):
        reader.fail("a property is written \\p{Name}", start)
    name = reader.until("}", start)
    ranges = unicode.property_of(name)
    if ranges is None:
        reader.refuse(f"the property {name!r} is not supported; general categories (L, Lu, Nd, ...) are", start)
    return alphabet.invert(ranges) if negated else ranges


def _read_character(reader: Reader, name: str, start: int, *, in_class: bool) -> int:
    if name in _CONTROL:
        return _CONTROL[name]
    if name == "x":
        return _read_hex(reader, 2, start)
    if name == "u":
        return _read_unicode(reader, start)
    if name.isdecimal() and name.isascii():
        return _read_digits(reader, name, start, in_class=in_class)
    if reader.dialect.python:
        if name == "a":
            return 7
        if name == "U":
            return _read_hex(reader, 8, start)
    elif name == "c":
        letter = reader.take()
        if not (letter.isascii() and letter.isalpha()):
            reader.fail("\\c is followed by a letter", start)
        return ord(letter) % 32
    elif name == "k":
        _refuse_reference(reader, start)
    if name in {"A", "z", "Z"}:
        reader.fail(f"\\{name} means nothing: ^ and $ are where the text begins and ends", start)
    if name.isascii() and name.isalnum():
        reader.fail(f"\\{name} means nothing", start)
    return ord(name)


def _refuse_reference(reader: Reader, start: int) -> NoReturn:
    reader.refuse("references to groups are not supported", start)


def _read_hex(reader: Reader, digits: int, start: int) -> int:
    text = reader.take(digits)
    if len(text) < digits or not _HEX.issuperset(text) or int(text, 16) > alphabet.LAST:
        reader.fail(f"{digits} hexadecimal digits of a character are expected", start)
    return int(text, 16)


def _read_unicode(reader: Reader, start: int) -> int:
    if reader.dialect.python or not reader.skip("{"):
        code = _read_hex(reader, 4, start)
        if not reader.dialect.python and 0xD800 <= code <= 0xDBFF and reader.peek(2) == "\\u":
            at = reader.at
            reader.take(2)
            low = 0 if reader.peek() == "{" else _read_hex(reader, 4, at)
            if 0xDC00 <= low <= 0xDFFF:
                return 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)
            reader.at = at
        return code
    text = reader.until("}", start)
    if not text or not _HEX.issuperset(text) or int(text, 16) > alphabet.LAST:
        reader.fail("\\u{...} holds the hexadecimal digits of a character", start)
    return int(text, 16)


def _read_digits(reader: Reader, name: str, start: int, *, in_class: bool) -> int:
    following = reader.peek(2)
    octal = reader.dialect.python and name in _OCTAL
    if name == "0":
        if not reader.dialect.python and following[:1].isdecimal():
            reader.fail("\\0 is not followed by a digit", start)
        digits = len(following) - len(following.lstrip("01234567")) if octal else 0
        return int("0" + reader.take(digits), 8)
    if octal and len(following) == 2 and _OCTAL.issuperset(following):
        code = int(name + reader.take(2), 8)
        if code > 0o377:
            reader.fail("octal escapes end at \\377", start)
        return code
    return reader.fail(f"\\{name} means nothing in a class", start) if in_class else _refuse_reference(reader, start)


def read_class(reader: Reader, start: int) -> tuple[Ranges, bool]:
    """Reads a class whose ``[`` has been read: the characters in it, and whether it is negated."""
    negated = reader.skip("^")
    ranges: list[tuple[int, int]] = []
    literal = reader.dialect.python  # Python takes a bracket that comes first as a member
    while literal or not reader.skip("]"):
        literal = False
        low = high = _read_member(reader, start)
        if reader.peek() == "-" and reader.peek(2) != "-]" and len(reader.peek(2)) == 2:
            at = reader.at
            reader.take()
            high = _read_member(reader, start)
            if not isinstance(low, int) or not isinstance(high, int) or high < low:
                reader.fail("this is no range of characters", at)
        if isinstance(low, int) and isinstance(high, int):
            ranges.append((low, high))
        elif not isinstance(low, int):
            ranges += low
    return alphabet.normalize(ranges), negated


def _read_member(reader: Reader, start: int) -> Ranges | int:
    each = reader.take()
    if not each:
        reader.fail("']' is missing for the class that begins here", start)
    return read_escape(reader, in_class=True) if each == "\\" else ord(each)
