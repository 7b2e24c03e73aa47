"""What the tables of several families have in common."""

from __future__ import annotations

import re
from typing import Final

from kernelet.contracts.parsing import CONTENT, WHITESPACE, CallName, CallSyntax, Exit, TextState

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


def written(
    before: str = "", after: str = "", *, key: str = "arguments", begin: str = "", separator: str = "", end: str = ""
) -> CallSyntax:
    """How calls are written that are an object of a name and arguments.

    Args:
        before: Before the object.
        after: Behind it.
        key: Of the arguments.
        begin: Before the first call.
        separator: Between two.
        end: Behind the last.
    """
    return CallSyntax(
        before=f'{before}{{"name": "',
        between=f'", "{key}": ',
        after=f"}}{after}",
        begin=begin,
        separator=separator,
        end=end,
    )
