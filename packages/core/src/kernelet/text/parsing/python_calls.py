"""Scanner of calls that are written as Python: ``f(a=1, b="x")``."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from kernelet.contracts.parsing import CONTENT, WHITESPACE, CallName
from kernelet.text.parsing.python_literal import PythonLiteral
from kernelet.text.parsing.scanner import Scanner, Step

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelet.contracts.parsing import PythonCallsState
    from kernelet.text.parsing.draft import Draft

_NAME: Final = re.compile(r"[^\W\d][\w.\-]*")
_NAME_TEXT: Final = re.compile(r"[\w.\-]*")
_LIMIT: Final = 256


class PythonCallsScanner(Scanner):
    """Calls as Python. Each literal becomes JSON as soon as it is whole; one that is none becomes a string.

    Each phase takes text from a place on, returns the place after what it took, and sets the phase that follows.
    """

    def __init__(self, draft: Draft, state: PythonCallsState) -> None:
        self._draft = draft
        self._state = state
        self._phase: Callable[[str, int], int] = self._begin if state.bracketed else self._before_name
        self._to: str | None = None
        self._open = self._complete = False
        self._raw: list[str] = []
        self._name = self._function = ""
        self._num_arguments = 0
        self._literal = PythonLiteral()
        self._num_calls = 0

    def feed(self, text: str) -> Step:
        """Takes text up to the end of the calls."""
        place = 0
        while place < len(text) and self._to is None:
            start, opened, num_calls = place, self._open, self._num_calls
            place = self._phase(text, place)
            if not opened and not self._open and num_calls == self._num_calls:
                self._raw.append(text[start:place])
        return self._step(place)

    def token(self, marker: str) -> Step:
        """Inside a string a marker is text; elsewhere nothing goes on behind it."""
        if self._phase == self._in_literal and self._literal.in_string:
            return self.feed(marker)
        self._stop()
        return self._step(0)

    def finish(self) -> None:
        """What did not become a call is content; a call that was cut is as it came."""
        text = self._rest()
        if not self._num_calls:
            self._draft.give_up(text)
        elif text.strip(WHITESPACE + ","):
            self._draft.give_up(text.lstrip(WHITESPACE))
        self._draft.leave()

    def _step(self, used: int) -> Step:
        if self._to is None:
            return Step(used)
        text = self._rest()
        if self._num_calls:
            return Step(used, self._to, again=text, fresh=self._to != CONTENT)
        self._draft.give_up(text)
        return Step(used, self._to, fresh=False)

    def _rest(self) -> str:
        """What came since the last call and belongs to none."""
        text = "" if self._open or self._complete else "".join(self._raw)
        self._raw.clear()
        return text

    def _stop(self) -> None:
        """Here is something else."""
        self._to = self._state.to if self._num_calls else CONTENT
        self._draft.leave()

    def _begin(self, text: str, place: int) -> int:
        if text[place] in WHITESPACE:
            return place + 1
        if text[place] != "[":
            self._stop()
            return place
        self._phase = self._before_name
        return place + 1

    def _before_name(self, text: str, place: int) -> int:
        character = text[place]
        if character in WHITESPACE or (character == "," and self._num_calls):
            return place + 1
        if self._state.bracketed and character == "]" and self._num_calls:
            self._complete = True
            self._stop()
            return place + 1
        if not _NAME.match(character):
            self._stop()
            return place
        self._name = ""
        self._phase = self._in_name
        return place

    def _read_name(self, text: str, place: int) -> tuple[int, bool]:
        """More of a name: the place behind it, and whether it is whole."""
        end = _end(_NAME_TEXT, text, place, place + _LIMIT - len(self._name))
        self._name += text[place:end]
        return end, end < len(text) or len(self._name) == _LIMIT

    def _in_name(self, text: str, place: int) -> int:
        end, whole = self._read_name(text, place)
        if not whole:
            return end
        if len(self._name) == _LIMIT or text[end] != "(":
            self._stop()
            return end
        self._function = self._name
        self._num_arguments = 0
        self._phase = self._before_key
        return end + 1

    def _is_declared(self) -> bool:
        return self._state.declared is None or self._function in self._state.declared

    def _begin_call(self) -> None:
        """What follows the name says that it is one."""
        self._draft.begin(CallName(self._function))
        self._raw.clear()
        self._open = True
        self._num_calls += 1

    def _before_key(self, text: str, place: int) -> int:
        character = text[place]
        if character in WHITESPACE or (character == "," and self._num_arguments):
            return place + 1
        if character == ")" and (self._open or self._num_calls or self._is_declared()):
            self._close()
            return place + 1
        if not _NAME.match(character):
            self._stop()
            return place
        self._name = ""
        self._phase = self._in_key
        return place

    def _in_key(self, text: str, place: int) -> int:
        end, whole = self._read_name(text, place)
        if whole:
            self._phase = self._before_value
        return end

    def _before_value(self, text: str, place: int) -> int:
        if text[place] in WHITESPACE:
            return place + 1
        if text[place] != "=":
            self._stop()
            return place
        if not self._open:
            self._begin_call()
        self._literal = PythonLiteral()
        self._phase = self._in_literal
        return place + 1

    def _in_literal(self, text: str, place: int) -> int:
        end = self._literal.feed(text, place)
        if self._literal.ended:
            head = ("{" if self._num_arguments == 0 else ", ") + json.dumps(self._name, ensure_ascii=False) + ": "
            self._draft.arguments(head + self._literal.as_json())
            self._num_arguments += 1
            self._phase = self._before_key
        return end

    def _close(self) -> None:
        if not self._open:
            self._begin_call()
        if self._num_arguments:
            self._draft.arguments("}")
        self._draft.end()
        self._open = False
        self._phase = self._before_name


def _end(pattern: re.Pattern[str], text: str, place: int, limit: int) -> int:
    found = pattern.match(text, place, limit)
    return found.end() if found is not None else place
