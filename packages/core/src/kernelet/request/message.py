"""What a parser makes of a choice's text."""

from __future__ import annotations

from dataclasses import dataclass, field, replace


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
class ParsedMessage:
    """A choice's text, parsed; grows with it.

    Attributes:
        reasoning: What the model thought.
        content: What the user is told.
        tool_calls: In the order of the text.
        num_reasoning_tokens: Tokens of the reasoning and its markers.
    """

    reasoning: str = ""
    content: str = ""
    tool_calls: list[ToolCall] = field(default_factory=list)
    num_reasoning_tokens: int = 0

    def snapshot(self) -> ParsedMessage:
        """A copy that stays as it is."""
        return replace(self, tool_calls=[replace(call) for call in self.tool_calls])
