"""A model's text and what it means."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kernelet.request.message import ParsedMessage

Calls = tuple[tuple[str, Mapping[str, Any] | str], ...]
"""Names and arguments: as values, or, of a call that was cut, as text."""


@dataclass(frozen=True, kw_only=True)
class Sample:
    """What a model wrote, and what it means.

    Attributes:
        text: All that was generated, without the token that ends it.
        reasoning: What the model thinks.
        content: What it tells the user.
        calls: What it calls.
        tools: What it may call.
        prompt: The end of the prompt.
        template_kwargs: Of the request.
        cut: The text was cut by a limit.
    """

    text: str
    reasoning: str = ""
    content: str = ""
    calls: Calls = ()
    tools: tuple[Mapping[str, Any], ...] = ()
    prompt: str = ""
    template_kwargs: Mapping[str, Any] = field(default_factory=dict)
    cut: bool = False


@dataclass(frozen=True)
class Parsed:
    """A message without its ids."""

    reasoning: str
    content: str
    calls: tuple[tuple[str, str], ...]


def parsed(message: ParsedMessage) -> Parsed:
    """A message as it is now."""
    return Parsed(message.reasoning, message.content, tuple((call.name, call.arguments) for call in message.tool_calls))


def plain(arguments: object) -> str:
    """Arguments in one form, in which 1, 1.0 and true differ; text that is no JSON stays as it is."""
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except ValueError:
            return str(arguments)
    return json.dumps(arguments, sort_keys=True)


def same_calls(found: tuple[tuple[str, str], ...], expected: Calls) -> bool:
    """Whether these are the calls, whatever the spelling of their arguments."""
    return [(name, plain(arguments)) for name, arguments in found] == [(name, plain(value)) for name, value in expected]
