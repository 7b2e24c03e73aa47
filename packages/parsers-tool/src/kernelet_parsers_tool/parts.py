"""What the tables of several families have in common."""

from __future__ import annotations

import re
from typing import Final

from kernelet.contracts.parsing import CONTENT, WHITESPACE, CallName, Exit, TextState

_NAME: Final = re.compile(r"[\w.:/\-]+")


def opening(marker: str | tuple[str, ...], to: str, *, keeps: bool = False, in_reasoning: bool = False) -> Exit:
    """A call is expected; the lines that end before it belong to it."""
    return Exit(marker, to, before="\n", opens=True, keeps=keeps, in_reasoning=in_reasoning)


def closing(marker: str | tuple[str, ...], to: str = CONTENT) -> Exit:
    """A call has ended."""
    return Exit(marker, to, before=WHITESPACE, closes=True)


def stray(*markers: str) -> tuple[Exit, ...]:
    """Markers that say nothing where they stand in content."""
    return tuple(Exit(marker, CONTENT) for marker in markers)


def behind(*exits: Exit) -> TextState:
    """Where the markers that end a call are awaited: text is content, should they never come."""
    return TextState(skip=WHITESPACE, exits=exits)


def identifier(text: str) -> CallName:
    """A name without whitespace around it, if it looks like one of a function."""
    name = text.strip()
    return CallName(name if _NAME.fullmatch(name) else "")
