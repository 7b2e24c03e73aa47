"""Answers for which a template writes the text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from kernelet.request.message import ParsedMessage
from kernelet.testing.parsing.draw import Case, message_of
from kernelet.testing.parsing.sample import Calls
from kernelet.testing.parsing.suite import Render

if TYPE_CHECKING:
    from kernelet.testing.tool_parser.suite import ToolParserCapabilities

TOOLS: Final[tuple[Mapping[str, Any], ...]] = (
    {
        "name": "get_weather",
        "description": "Weather of a day.",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string"},
                "day": {"type": "integer"},
                "unit": {"type": ["string", "null"]},
                "hours": {"type": ["integer", "null"]},
                "numbers": {"type": "array", "items": {"type": "object"}},
            },
            "required": ["city"],
        },
    },
    {"name": "now", "description": "The time.", "parameters": {"type": "object", "properties": {}}},
)


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A text and what it means."""

    text: str
    reasoning: str = ""
    content: str = ""
    calls: Calls = ()


def messages(capabilities: ToolParserCapabilities) -> list[ParsedMessage]:
    """Few that are short and have everything."""

    def fit(text: str) -> str:
        return text if capabilities.carries(text) else "plain"

    weather = ("get_weather", {"city": fit('Zü"r{ich'), "day": -3, "numbers": [{"v": 1}]})
    told = ("get_weather", {"city": fit("a\nb \\ }")})
    now: tuple[str, dict[str, Any]] = ("now", {})
    content = "Let me see." if capabilities.content_before else ""
    return [
        message_of((weather,), content),
        message_of((now, told) if capabilities.many_calls else (now,)),
        message_of((), content="Nothing to call: 1 < 2, and {3}."),
    ]


def calls_text(render: Render, *calls: tuple[str, Mapping[str, Any] | str]) -> str:
    """An answer of calls alone."""
    return render(message_of(calls), TOOLS)


def answer(case: Case, capabilities: ToolParserCapabilities, render: Render) -> Answer:
    """A random answer, with text where the format has a place for it."""
    reasoning = case.texts[-1] if capabilities.parses_reasoning else ""
    first = case.texts[0] if capabilities.content_before else ""
    behind = case.texts[-1] if capabilities.content_after else ""
    if not (case.apart and capabilities.content_between and capabilities.many_calls):
        text = render(message_of(case.calls, first, reasoning), case.tools)
        return Answer(text=text + behind, reasoning=reasoning, content=first + behind, calls=case.calls)
    pieces, told = [], []
    for number, call in enumerate(case.calls):
        pieces.append(render(message_of((call,), "" if number else first, "" if number else reasoning), case.tools))
        last = number == len(case.calls) - 1
        told.append(behind if last else case.texts[number + 1])
        pieces.append(told[-1])
    return Answer(text="".join(pieces), reasoning=reasoning, content=first + "".join(told), calls=case.calls)
