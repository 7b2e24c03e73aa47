"""The table of models that think between two tags."""

from __future__ import annotations

from kernelet.contracts.parsing import (
    CONTENT,
    REASONING,
    WHITESPACE,
    Exit,
    ParserContext,
    ParserTable,
    TextState,
)

NEWLINES = "\n"


def tagged(
    context: ParserContext,
    opening: str = "<think>",
    closing: str = "</think>",
    *,
    around: str = NEWLINES,
    anywhere: bool = False,
    answer: str = "",
) -> ParserTable:
    """A table.

    The opening tag counts where an answer begins, and after a call: in the middle of content it is text, since the rest
    of an answer that only mentions the tag would else be reasoning. A closing tag that closes nothing is dropped.

    Args:
        context: The prompt's end says whether the model thinks from its first token on.
        opening: The tag that opens reasoning; by the template at the end of the prompt, or by the model.
        closing: The one that closes it.
        around: Characters that belong to the tags, next to them: inside, and behind the closing one.
        anywhere: The opening tag counts in the middle of content too.
        answer: Name of the tag around content; empty: there is none.
    """
    inside = (
        Exit(closing, CONTENT, before=around, after=around),
        Exit(opening, REASONING, at_start=True),
    )
    outside = (
        Exit(opening, REASONING, at_start=not anywhere),
        Exit(closing, CONTENT, after=around),
    )
    return ParserTable(
        states={REASONING: TextState(into=REASONING, skip=around, exits=inside)},
        content_exits=outside + (_around_answer(answer) if answer else ()),
        start=REASONING if context.prompt.rstrip(WHITESPACE).endswith(opening) else CONTENT,
    )


def _around_answer(name: str) -> tuple[Exit, ...]:
    return (
        Exit(f"<{name}>", CONTENT, after=NEWLINES, at_start=True),
        Exit(f"</{name}>", CONTENT, before=NEWLINES, after=NEWLINES),
    )
