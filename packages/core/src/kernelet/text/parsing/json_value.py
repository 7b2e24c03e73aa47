"""Finds the end of a JSON value in a text that comes in pieces."""

from __future__ import annotations

import re
from typing import Final

_STRING_TEXT: Final = re.compile(r'[^"\\]*')
_CONTAINER_TEXT: Final = re.compile(r'[^"{}\[\]]*')
_SCALAR_TEXT: Final = re.compile(r'[^,\]}\s"{\[<;|]*')


class JsonValue:
    """One value. Strings and brackets are followed, nothing else is checked."""

    def __init__(self) -> None:
        self._depth = 0
        self._in_string = False
        self._escaped = False
        self._begun = False
        self.ended = False

    def feed(self, text: str, place: int) -> int:
        """Takes the value's text from a place of `text` on; returns the place after what belongs to it."""
        while place < len(text) and not self.ended:
            if self._in_string:
                place = self._string(text, place)
            elif self._depth:
                place = self._container(text, place)
            elif not self._begun and text[place] in '"{[':
                place = self._opening(text, place)
            else:
                place = self._scalar(text, place)
            self._begun = True
        return place

    def _string(self, text: str, place: int) -> int:
        if self._escaped:
            self._escaped = False
            return place + 1
        found = _STRING_TEXT.match(text, place)
        place = found.end() if found is not None else place
        if place == len(text):
            return place
        if text[place] == "\\":
            self._escaped = True
        else:
            self._in_string = False
            self.ended = self._depth == 0
        return place + 1

    def _container(self, text: str, place: int) -> int:
        found = _CONTAINER_TEXT.match(text, place)
        place = found.end() if found is not None else place
        return self._opening(text, place) if place < len(text) else place

    def _opening(self, text: str, place: int) -> int:
        character = text[place]
        if character == '"':
            self._in_string = True
        else:
            self._depth += 1 if character in "{[" else -1
            self.ended = self._depth == 0
        return place + 1

    def _scalar(self, text: str, place: int) -> int:
        found = _SCALAR_TEXT.match(text, place)
        place = found.end() if found is not None else place
        self.ended = place < len(text)
        return place
