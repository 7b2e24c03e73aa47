"""Reads a literal of Python from a text that comes in pieces."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kernelet.text.parsing.values import as_json, json_value, python_value

if TYPE_CHECKING:
    from collections.abc import Callable

_STRING_TEXT: Final = re.compile(r"""[^\\'"\r\n]+""")
_OTHER_TEXT: Final = re.compile(r"""[^'"()\[\]{},]+""")
_ESCAPES: Final = "\n\r\\'\"abfnrtv01234567xNuU"
_LINE_ENDS: Final = {"\n": "\\n", "\r": "\\r"}


class PythonLiteral:
    """One literal, up to the comma or bracket behind it, which is not part of it.

    Models are less strict than Python: line ends may stand in any string, and a backslash that escapes nothing is one.
    Each phase takes text from a place on, returns the place after what it took, and sets the phase that follows.
    """

    def __init__(self) -> None:
        self._phase: Callable[[str, int], int] = self._outside
        self._text: list[str] = []
        self._depth = 0
        self._quote = ""
        self._num_quotes = 0
        self._raw = False
        self.ended = False

    @property
    def in_string(self) -> bool:
        """Whether a marker that comes now is text of a string."""
        return bool(self._quote) and not (self._phase == self._opening and self._num_quotes > 1)

    def feed(self, text: str, place: int) -> int:
        """Takes the literal's text from a place on; returns the place after what belongs to it."""
        while place < len(text) and not self.ended:
            place = self._phase(text, place)
        return place

    def as_json(self) -> str:
        """The value, of Python's or JSON's spelling; a text that is none of them is a string."""
        text = "".join(self._text).strip()
        return python_value(text) or json_value(text) or as_json(text)

    def _outside(self, text: str, place: int) -> int:
        if found := _OTHER_TEXT.match(text, place):
            self._text.append(found[0])
            return found.end()
        character = text[place]
        if self._depth <= 0 and character in ",)":
            self.ended = True
            return place
        if character in "\"'":
            self._raw = bool(self._text) and self._text[-1][-1] in "rR"
            self._quote, self._num_quotes = character, 1
            self._phase = self._opening
        elif character != ",":
            self._depth += 1 if character in "([{" else -1
        self._text.append(character)
        return place + 1

    def _opening(self, text: str, place: int) -> int:
        """A string begins with one quote or three; two are an empty one."""
        if text[place] != self._quote:
            empty = self._num_quotes > 1
            self._quote = "" if empty else self._quote
            self._phase = self._outside if empty else self._inside
            self._num_quotes = 0
            return place
        self._text.append(self._quote)
        self._num_quotes += 1
        if self._num_quotes == len("'''"):
            self._quote, self._num_quotes = self._quote * 3, 0
            self._phase = self._inside
        return place + 1

    def _inside(self, text: str, place: int) -> int:
        found = _STRING_TEXT.match(text, place)
        if found is None and text[place] == self._quote[0]:
            self._num_quotes += 1
            self._text.append(text[place])
            if self._num_quotes == len(self._quote):
                self._quote, self._phase = "", self._outside
            return place + 1
        self._num_quotes = 0
        if found is not None:
            self._text.append(found[0])
            return found.end()
        if text[place] == "\\":
            self._phase = self._escape
        else:
            ends = _LINE_ENDS if len(self._quote) == 1 else {}
            self._text.append(ends.get(text[place], text[place]))
        return place + 1

    def _escape(self, text: str, place: int) -> int:
        escapes = self._raw or text[place] in _ESCAPES
        self._text.append(("\\" if escapes else "\\\\") + text[place])
        self._phase = self._inside
        return place + 1
