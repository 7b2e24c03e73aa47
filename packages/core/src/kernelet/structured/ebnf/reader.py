"""Grammars as they are written: what the two syntaxes share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Final, NoReturn

from kernelet.structured.automata.syntax import Regex
from kernelet.structured.refusal import InvalidConstraintError, Refusal, UnenforcedError

MAX_NESTED: Final = 32
_ESCAPES: Final = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "v": "\v", "b": "\b", "a": "\a", "0": "\0"}
_HEX: Final = {"x": 2, "u": 4, "U": 8}


@dataclass(frozen=True)
class Reference:
    """The rule of this name."""

    name: str
    at: int


@dataclass(frozen=True)
class Terminal:
    """A regular language that is written out."""

    regex: Regex
    at: int


@dataclass(frozen=True)
class Sequence:
    items: tuple[Item, ...]


@dataclass(frozen=True)
class Choice:
    items: tuple[Item, ...]


@dataclass(frozen=True)
class Repeated:
    item: Item
    minimum: int
    maximum: int | None


Item = Reference | Terminal | Sequence | Choice | Repeated


class Source:
    """The text of a grammar and where its reading stands."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def place(self, at: int | None = None) -> str:
        at = self.at if at is None else at
        line = self.text.count("\n", 0, at) + 1
        return f"grammar, line {line}, column {at - self.text.rfind(chr(10), 0, at)}"

    def fail(self, reason: str, at: int | None = None) -> NoReturn:
        """The grammar is wrong here."""
        raise InvalidConstraintError(reason, self.place(at))

    def refuse(self, reason: str, at: int | None = None) -> NoReturn:
        """The grammar means something here that is not enforced."""
        raise UnenforcedError([Refusal(self.place(at), reason)])

    def peek(self, length: int = 1) -> str:
        return self.text[self.at : self.at + length]

    def take(self) -> str:
        taken = self.peek()
        self.at += len(taken)
        return taken

    def skip(self, text: str) -> bool:
        """Whether this comes next; then it is read."""
        found = self.text.startswith(text, self.at)
        if found:
            self.at += len(text)
        return found

    @property
    def is_done(self) -> bool:
        return self.at >= len(self.text)

    def number(self) -> int | None:
        """Reads digits, if there are any."""
        start = self.at
        while self.peek().isascii() and self.peek().isdigit():
            self.at += 1
        if self.at - start > 9:
            self.fail("the number is too large", start)
        return int(self.text[start : self.at]) if self.at > start else None

    def escape(self, literally: str) -> str:
        """Reads what follows a backslash that has been read; characters of ``literally`` stand for themselves."""
        start = self.at - 1
        name = self.take()
        if name in _HEX:
            code = self._code(_HEX[name], start)
            if 0xD800 <= code <= 0xDBFF and self.skip("\\u"):
                low = self._code(4, start)
                code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00) if 0xDC00 <= low <= 0xDFFF else code
            if 0xD800 <= code <= 0xDFFF:
                self.fail("a surrogate is no character", start)
            return chr(code)
        if name and name in literally:
            return name
        if name in _ESCAPES:
            return _ESCAPES[name]
        return self.fail(f"\\{name} means nothing here", start)

    def _code(self, digits: int, start: int) -> int:
        text = self.peek(digits)
        if len(text) < digits or not set(text) <= set("0123456789abcdefABCDEF") or int(text, 16) > 0x10FFFF:
            self.fail(f"{digits} hexadecimal digits of a character are expected", start)
        self.at += digits
        return int(text, 16)


class Reader(ABC):
    """Reads alternatives of sequences of counted items."""

    def __init__(self, text: str) -> None:
        self.source = Source(text)
        self._nested = 0

    @abstractmethod
    def blank(self) -> None:
        """Passes over what means nothing."""

    @abstractmethod
    def ends(self) -> bool:
        """Whether a rule ends here, other than by a bracket."""

    @abstractmethod
    def atom(self) -> Item:
        """Reads one item without its count; there is something."""

    @abstractmethod
    def count(self) -> tuple[int, int | None] | None:
        """Reads how often the last item stands there; None: nothing is said of that."""

    def after_sequence(self) -> None:
        """Reads what may follow an alternative."""

    def alternatives(self) -> Item:
        """Reads alternatives up to where they end."""
        items = [self._sequence()]
        while self.source.skip("|"):
            items.append(self._sequence())
        return items[0] if len(items) == 1 else Choice(tuple(items))

    def _sequence(self) -> Item:
        items: list[Item] = []
        self.blank()
        while not self.ends() and self.source.peek() not in {"|", ")", "]", "-"}:
            item = self.atom()
            self.blank()
            if not self.ends() and (count := self.count()) is not None:
                item = Repeated(item, *count)
                self.blank()
            items.append(item)
        self.after_sequence()
        return items[0] if len(items) == 1 else Sequence(tuple(items))

    def bracketed(self, closing: str) -> Item:
        """Reads alternatives in brackets, the first of which has been read."""
        start = self.source.at - 1
        self._nested += 1
        if self._nested > MAX_NESTED:
            self.source.refuse(f"brackets are nested deeper than {MAX_NESTED} levels", start)
        item = self.alternatives()
        if not self.source.skip(closing):
            self.source.fail(f"{closing!r} is missing for what begins here", start)
        self._nested -= 1
        return item

    def quoted(self, quote: str, literally: str) -> str:
        """Reads the rest of a text in quotes."""
        start = self.source.at - 1
        characters = []
        while not self.source.skip(quote):
            each = self.source.take()
            if not each or each == "\n":
                self.source.fail(f"{quote} is missing for the text that begins here", start)
            if "\ud800" <= each <= "\udfff":
                self.source.fail("a surrogate is no character", self.source.at - 1)
            characters.append(self.source.escape(literally) if each == "\\" else each)
        return "".join(characters)
