"""The message as it grows, and the text that may still become a call."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from kernelet.contracts.parsing import CONTENT, REASONING
from kernelet.request.message import TOOL_CALL, ParsedMessage, Run, ToolCall
from kernelet.text.parsing.parameters import Parameters

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from kernelet.contracts.parsing import CallName


def new_call_id() -> str:
    """An id as OpenAI's API has them."""
    return f"call_{uuid.uuid4().hex[:24]}"


class Draft:
    """What scanners write to. Text is joined when the message is asked for, not with each piece.

    Args:
        tools: The functions, for the types of their parameters.
        new_id: Makes the id of a call.
        drops_calls: Neither calls nor their markers become part of the message.
        only_calls: There is no content: text that is not reasoning is what there is of a call.
    """

    def __init__(
        self,
        tools: Iterable[Mapping[str, Any]] = (),
        new_id: Callable[[], str] = new_call_id,
        *,
        drops_calls: bool = False,
        only_calls: bool = False,
    ) -> None:
        self.parameters = Parameters(None, self.arguments)
        self._message = ParsedMessage()
        self._content: list[str] = []
        self._reasoning: list[str] = []
        self._arguments: list[str] = []
        self._schemas = {tool["name"]: tool.get("parameters") for tool in tools}
        self._new_id = new_id
        self._drops = drops_calls
        self._only_calls = only_calls
        self._expected: list[str] | None = None
        self._num_opened = 0
        self._num_given_up = 0
        self._call: ToolCall | None = None
        self._ids: set[str] = set()
        self._num_tokens = 0
        self._early: tuple[str, int] = ("", 0)
        self._skips = False

    @property
    def message(self) -> ParsedMessage:
        """All that was written."""
        if self._content:
            self._message.content += _taken(self._content)
        if self._reasoning:
            self._message.reasoning += _taken(self._reasoning)
        if self._arguments and self._call is not None:
            self._call.arguments += _taken(self._arguments)
        return self._message

    @property
    def expects_call(self) -> bool:
        """Whether a call was opened whose name is not known."""
        return self._expected is not None

    def write(self, into: str, text: str) -> None:
        """Text for the user or reasoning; empty ``into`` drops it, unless it belongs to a call that may not come."""
        if not text:
            return
        if into == CONTENT:
            self.give_up()
            self._tell(text)
        elif into == REASONING:
            self._reasoning.append(text)
            self._run(REASONING).length += len(text)
        else:
            self.expect(text)

    def open(self, marker: str) -> None:
        """A call is expected."""
        self.end()
        self._expected = [*(self._expected or []), marker]
        self._num_opened += 1

    def expect(self, text: str) -> None:
        """Text that belongs to the call that is expected; nothing if none is."""
        if self._expected is not None:
            self._expected.append(text)

    def begin(self, name: CallName) -> None:
        """A call's name is known."""
        self.end()
        self._expected = None
        self._num_opened = self._num_given_up = 0
        own = name.id if name.id not in self._ids else ""
        self._call = ToolCall(id=own or self._new_id(), name=name.name)
        self._ids.add(self._call.id)
        self.parameters = Parameters(self._schemas.get(name.name), self.arguments)
        if not self._drops:
            self._message.tool_calls.append(self._call)
            self._run(TOOL_CALL)

    def arguments(self, text: str) -> None:
        """More of the open call's arguments."""
        if self._call is not None:
            self._arguments.append(text)

    def end(self) -> None:
        """The open call has ended; one without arguments gets an empty object."""
        self.parameters.close()
        call = self._call
        self.leave()
        if call is not None and not call.arguments:
            call.arguments = "{}"

    def leave(self) -> None:
        """The open call stays as it came."""
        if self._call is not None:
            self._call.arguments += _taken(self._arguments)
        self._call = None

    def give_up(self, text: str = "", *, ended: bool = False) -> None:
        """No call came: what belonged to it is content, as generated.

        Where calls are dropped, so is what a marker opened; a text that might have been a call without a marker is
        content there, too.

        Args:
            text: That came after what was given to ``expect``.
            ended: It has the marker that ends the call.
        """
        opened = _taken(self._expected or [])
        self._num_given_up += max(self._num_opened - ended, 0)
        self._num_opened = 0
        self._expected = None
        if not (self._drops and opened.strip()):
            self._tell(opened + text)

    def end_given_up(self, marker: str) -> None:
        """A marker that ends calls: content if one was given up, as its begin is; else it says nothing."""
        if self._num_given_up:
            self._num_given_up -= 1
            if not self._drops:
                self._tell(marker)

    def finish(self, *, cut: bool) -> None:
        """The text has ended. Arguments stay as they came; parameters end if the last one has, and nothing was cut."""
        if self._expected is not None:
            self.give_up()
        if not cut and not self.parameters.in_value:
            self.parameters.close()
        self.leave()

    @property
    def last_kind(self) -> str:
        """Kind of the last run; empty: there is none."""
        runs = self._message.runs
        return runs[-1].kind if runs else ""

    def skip(self) -> None:
        """What came now is dropped: its tokens are nobody's where no text goes on."""
        self._skips = True

    def count(self, kind: str, num_tokens: int) -> None:
        """Tokens came whose text is of a kind, though it may still be held back; empty: of none."""
        if self._skips and kind != self.last_kind:
            kind = "" if kind == CONTENT else kind
        self._skips = False
        first, self._num_tokens = self._num_tokens, self._num_tokens + num_tokens
        if kind == REASONING:
            self._message.num_reasoning_tokens += num_tokens
        if kind and kind == self.last_kind:
            run = self._message.runs[-1]
            run.tokens = range(run.tokens.start, self._num_tokens)
            self._early = ("", 0)
        elif self._early[0] != kind:
            self._early = (kind, first)

    def _tell(self, text: str) -> None:
        if text and not self._only_calls:
            self._content.append(text)
            self._run(CONTENT).length += len(text)

    def _run(self, kind: str) -> Run:
        """The run that goes on; another one where the last is of another kind."""
        runs = self._message.runs
        if kind == TOOL_CALL or self.last_kind != kind:
            early, self._early = self._early, ("", 0)
            first = early[1] if early[0] == kind else self._num_tokens
            runs.append(Run(kind=kind, tokens=range(0) if kind == TOOL_CALL else range(first, self._num_tokens)))
        return runs[-1]


def _taken(pieces: list[str]) -> str:
    text = "".join(pieces)
    pieces.clear()
    return text
