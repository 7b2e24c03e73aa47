"""A form of reasoning that no model has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kernelet.contracts.parsing import CONTENT, REASONING, Exit, ParserContext, ParserTable, TextState
from kernelet.request.message import ParsedMessage


def table(context: ParserContext) -> ParserTable:
    """``<thought>...</thought>``, which the prompt may have opened."""
    opened = context.prompt.rstrip().endswith("<thought>")
    end = Exit("</thought>", CONTENT, before="\n", after="\n")
    return ParserTable(
        states={REASONING: TextState(into=REASONING, skip="\n", exits=(end,))},
        content_exits=(
            Exit("<thought>", REASONING, before="\n", at_start=True),
            Exit("</thought>", CONTENT, after="\n"),
        ),
        start=REASONING if opened else CONTENT,
    )


def write(message: ParsedMessage, _: Sequence[Mapping[str, Any]] = ()) -> str:
    """An answer in that form."""
    thought = f"<thought>\n{message.reasoning}\n</thought>\n\n" if message.reasoning else ""
    return thought + message.content
