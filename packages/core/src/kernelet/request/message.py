"""What a parser makes of a choice's text."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

TOOL_CALL: Final = "tool_call"
"""Kind of a run that is a call; others have the names of ``kernelet.contracts.parsing``."""


@dataclass(kw_only=True)
class ToolCall:
    """One call.

    Attributes:
        id: Unique.
        name: Of the function.
        arguments: JSON as generated; of a call that the end of the text cut, as far as it came.
    """

    id: str
    name: str
    arguments: str = ""


@dataclass(kw_only=True)
class Run:
    """A stretch of the text.

    Attributes:
        kind: ``"reasoning"``, ``"content"`` or ``"tool_call"``; each call is a run of its own.
        length: Characters of that kind's text; of a call 0.
        tokens: Which of the choice's tokens it was read from; of a call none.
    """

    kind: str
    length: int = 0
    tokens: range = range(0)


@dataclass(kw_only=True)
class ParsedMessage:
    """A choice's text, parsed; grows with it.

    Attributes:
        reasoning: What the model thought.
        content: What the user is told.
        tool_calls: In the order of the text.
        num_reasoning_tokens: Tokens of the reasoning and its markers.
        runs: In which order reasoning, content and calls came.
    """

    reasoning: str = ""
    content: str = ""
    tool_calls: list[ToolCall] = field(default_factory=list)
    num_reasoning_tokens: int = 0
    runs: list[Run] = field(default_factory=list)

    def snapshot(self) -> ParsedMessage:
        """A copy that stays as it is."""
        calls, runs = [replace(call) for call in self.tool_calls], [replace(run) for run in self.runs]
        return replace(self, tool_calls=calls, runs=runs)
