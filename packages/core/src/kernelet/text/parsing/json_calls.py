"""Scanners of calls whose arguments are JSON, which is passed on as generated."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from kernelet.contracts.parsing import CONTENT, WHITESPACE, CallName
from kernelet.text.parsing.json_value import JsonValue
from kernelet.text.parsing.scanner import Scanner, Step

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelet.contracts.parsing import ArgumentsState, JsonCallsState
    from kernelet.text.parsing.draft import Draft


class ArgumentsScanner(Scanner):
    """The arguments of the open call: one JSON value; what does not begin like an object or a list is text.

    Args:
        draft: What is written to.
        state: Its description.
        text: Reads arguments that are text, up to an exit of the state that follows.
    """

    def __init__(self, draft: Draft, state: ArgumentsState, text: Scanner) -> None:
        self._draft = draft
        self._to = state.to
        self._text = text
        self._is_text = False
        self._value: JsonValue | None = None

    def feed(self, text: str) -> Step:
        """Takes text up to the end of the value."""
        place = 0
        if self._is_text:
            return self._text.feed(text)
        if self._value is None:
            place = len(text) - len(text.lstrip(WHITESPACE))
            if place == len(text):
                return Step(place)
            if text[place] not in "{[":
                self._is_text = True
                step = self._text.feed(text[place:])
                return replace(step, used=place + step.used)
            self._value = JsonValue()
        end = self._value.feed(text, place)
        self._draft.arguments(text[place:end])
        return Step(end, self._to if self._value.ended else None)

    def token(self, marker: str) -> Step:
        """Inside the value a marker is text; elsewhere, it may be an exit of the state that follows."""
        return self._text.token(marker) if self._value is None else self.feed(marker)

    def finish(self) -> None:
        """A value that was cut is as it came."""
        if self._is_text:
            self._text.finish()
        self._draft.leave()


class JsonCallsScanner(Scanner):
    """Calls as JSON objects.

    Each phase takes text from a place on, returns the place after what it took, and sets the phase that follows. What
    cannot be a call is content as long as its name is not known; behind the name it ends the call.
    """

    def __init__(self, draft: Draft, state: JsonCallsState) -> None:
        self._draft = draft
        self._state = state
        self._phase: Callable[[str, int], int] = self._begin
        self._to: str | None = None
        self._listed = False
        self._num_calls = 0
        self._raw: list[str] = []
        self._pieces: list[str] = []
        self._key = ""
        self._value = JsonValue()
        self._new_object()

    def _new_object(self) -> None:
        self._named = False
        self._nesting = 0
        self._num_keys = 0
        self._argued = self._takes = False
        self._early: list[str] = []
        self._name: list[str] = []
        self._pending = ""
        if self._num_calls:
            self._raw.clear()

    def feed(self, text: str) -> Step:
        """Takes text up to the end of the calls."""
        place = 0
        while place < len(text) and self._to is None:
            start = place
            place = self._phase(text, place)
            if not self._named:
                self._raw.append(text[start:place])
        return self._step(place)

    def token(self, marker: str) -> Step:
        """Inside a string or a value a marker is text; elsewhere nothing goes on behind it."""
        if self._phase in (self._in_key, self._in_value):
            return self.feed(marker)
        self._stop()
        return self._step(0)

    def finish(self) -> None:
        """What did not become a call is content; a call that was cut is as it came."""
        if not self._named:
            self._draft.give_up("".join(self._raw))
        if self._phase == self._in_value:
            self._draft.leave()

    def _step(self, used: int) -> Step:
        if self._to is None:
            return Step(used)
        if not self._named:
            self._draft.give_up("".join(self._raw))
        return Step(used, self._to, fresh=self._named)

    def _stop(self) -> None:
        """Here is something else."""
        self._to = self._state.to if self._named else CONTENT

    def _begin(self, text: str, place: int) -> int:
        if text[place] in WHITESPACE:
            return place + 1
        if self._state.many and text[place] == "[":
            self._listed = True
            self._phase = self._element
            return place + 1
        return self._element(text, place)

    def _element(self, text: str, place: int) -> int:
        if text[place] in WHITESPACE:
            return place + 1
        if text[place] != "{":
            self._stop()
            return place + (self._listed and self._named and text[place] == "]")
        self._new_object()
        self._phase = self._before_key
        return place + 1

    def _before_key(self, text: str, place: int) -> int:
        if text[place] in WHITESPACE:
            return place + 1
        if text[place] == "}":
            return self._close(place + 1)
        if text[place] != '"':
            self._stop()
            return place
        self._pieces, self._value = [], JsonValue()
        self._phase = self._in_key
        return place

    def _in_key(self, text: str, place: int) -> int:
        end = self._value.feed(text, place)
        self._pieces.append(text[place:end])
        if self._value.ended:
            self._key = decoded("".join(self._pieces))
            self._phase = self._before_value
            self._num_keys += 1
            known = (*self._state.names, *self._state.arguments, *self._state.inside, *self._state.others)
            if self._num_keys == 1 and self._key not in known:
                self._stop()
            self._takes = self._key in self._state.arguments and not self._argued
            self._argued = self._argued or self._takes
            if self._pending and self._takes:
                self._begin_call(self._pending)
        return end

    def _before_value(self, text: str, place: int) -> int:
        if text[place] in WHITESPACE:
            return place + 1
        if text[place] != ":":
            self._stop()
            return place
        self._phase = self._at_value
        return place + 1

    def _at_value(self, text: str, place: int) -> int:
        if text[place] in WHITESPACE:
            return place + 1
        if self._key in self._state.inside and text[place] == "{":
            self._nesting += 1
            self._phase = self._before_key
            return place + 1
        self._value = JsonValue()
        self._phase = self._in_value
        return place

    def _in_value(self, text: str, place: int) -> int:
        end = self._value.feed(text, place)
        if self._takes:
            self._add_arguments(text[place:end])
        elif self._key in self._state.names and not self._named:
            self._name.append(text[place:end])
        if self._value.ended:
            self._phase = self._after_value
            if self._key in self._state.names and not self._named:
                self._take_name()
        return end

    def _add_arguments(self, text: str) -> None:
        if self._named:
            self._draft.arguments(text)
        else:
            self._early.append(text)

    def _take_name(self) -> None:
        name = decoded("".join(self._name))
        declared = self._state.declared
        if not name:
            self._stop()
        elif declared is None or name in declared or self._argued:
            self._begin_call(name)
        else:
            self._pending = self._pending or name
            self._name.clear()

    def _begin_call(self, name: str) -> None:
        self._pending = ""
        self._draft.begin(CallName(name))
        self._named = True
        self._num_calls += 1
        self._raw.clear()
        self._draft.arguments("".join(self._early))

    def _after_value(self, text: str, place: int) -> int:
        if text[place] in WHITESPACE:
            return place + 1
        if text[place] == "}":
            return self._close(place + 1)
        if text[place] != ",":
            self._stop()
            return place
        self._phase = self._before_key
        return place + 1

    def _close(self, place: int) -> int:
        """An object has ended."""
        if self._nesting:
            self._nesting -= 1
            self._phase = self._after_value
        elif not self._named:
            self._stop()
        else:
            self._draft.end()
            self._phase = self._after_call
            if not self._listed and not self._state.separators:
                self._stop()
        return place

    def _after_call(self, text: str, place: int) -> int:
        if text[place] in WHITESPACE:
            return place + 1
        if text[place] in ("," if self._listed else self._state.separators):
            self._phase = self._element
            return place + 1
        self._stop()
        return place + (self._listed and text[place] == "]")


def decoded(text: str) -> str:
    """The string that a JSON text stands for; empty if it is none, or no text at all (half a surrogate pair)."""
    try:
        value = json.loads(text, strict=False)
        return value if isinstance(value, str) and value.encode() else ""
    except ValueError:
        return ""
