"""Scanner of arguments with bare keys and strings between markers: ``{a:'x',b:[1,true]}`` with a marker for ``'``."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from kernelet.contracts.parsing import WHITESPACE
from kernelet.text.parsing.scanner import Scanner, Step
from kernelet.text.parsing.values import as_json, python_value, refuse

if TYPE_CHECKING:
    from kernelet.contracts.parsing import QuotedArgumentsState
    from kernelet.text.parsing.draft import Draft

_BARE_TEXT: Final = re.compile(r"[^{}\[\],:]*")


class QuotedArgumentsScanner(Scanner):
    """One object: the arguments of the open call. It becomes JSON as it comes; a bare value with its end."""

    def __init__(self, draft: Draft, state: QuotedArgumentsState) -> None:
        self._draft = draft
        self._state = state
        self._open: list[str] = []
        self._begun = False
        self._in_string = False
        self._bare = ""
        self._held = ""

    def feed(self, text: str) -> Step:
        """Takes text up to the end of the object; what does not begin like one is none."""
        place = 0
        while place < len(text):
            if self._in_string or self._held:
                place = self._marked(text, place)
            elif not self._begun:
                if text[place] not in WHITESPACE and text[place] != "{":
                    return Step(place, self._state.to)
                place = self._structure(text, place) if text[place] == "{" else place + 1
            elif text[place] in "{}[],:":
                place = self._structure(text, place)
                if not self._open:
                    return Step(place, self._state.to)
            else:
                place = self._bare_text(text, place)
        return Step(len(text))

    def token(self, marker: str) -> Step:
        """Quotes may be tokens; before the object a marker is for the state that follows."""
        return self.feed(marker) if self._begun else Step(0, self._state.to)

    def finish(self) -> None:
        """An object that was cut is as it came."""
        if self._in_string:
            self._string(self._held)
        if self._begun:
            self._draft.leave()

    def _structure(self, text: str, place: int) -> int:
        character = text[place]
        self._begun = True
        if bare := self._bare.strip():
            is_key = character == ":" and self._open[-1] == "{"
            self._draft.arguments(as_json(bare) if is_key else literal(bare))
        self._bare = ""
        if character in "{[":
            self._open.append(character)
        elif character in "}]":
            character = "}" if self._open.pop() == "{" else "]"
        self._draft.arguments(character)
        return place + 1

    def _bare_text(self, text: str, place: int) -> int:
        """A key, or a value that is no string, up to what follows it or to a quote."""
        found = _BARE_TEXT.match(text, place)
        end = found.end() if found is not None else place
        start = text.find(self._state.quote[0], place, end)
        if start < 0:
            self._bare += text[place:end]
            return end
        self._bare += text[place:start]
        self._held = text[start]
        return start + 1

    def _marked(self, text: str, place: int) -> int:
        """Inside a string, or where a quote may have begun."""
        quote, character = self._state.quote, text[place]
        if not self._held and (start := text.find(quote[0], place)) != place:
            end = start if start >= 0 else len(text)
            self._string(text[place:end])
            return end
        self._held += character
        while self._held and not quote.startswith(self._held):
            self._release()
        if self._held == quote:
            self._held = ""
            self._in_string = not self._in_string
            self._draft.arguments('"')
        return place + 1

    def _release(self) -> None:
        """The first character that was held back begins no quote."""
        first, self._held = self._held[0], self._held[1:]
        if self._in_string:
            self._string(first)
        else:
            self._bare += first

    def _string(self, text: str) -> None:
        if text:
            self._draft.arguments(as_json(text)[1:-1])


def literal(text: str) -> str:
    """JSON text of a bare value, of JSON's or Python's spelling; any other text is a string."""
    try:
        json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError):
        return python_value(text) or as_json(text)
    return text
