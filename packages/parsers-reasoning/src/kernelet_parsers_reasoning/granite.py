"""Granite: tags around thoughts and answer, in earlier releases two sentences before them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelet.contracts.parsing import CONTENT, REASONING, WHITESPACE, Exit, ParserTable, TextState
from kernelet_parsers_reasoning.tags import tagged

if TYPE_CHECKING:
    from kernelet.contracts.parsing import ParserContext

SPOKEN = "spoken thoughts"


def granite(context: ParserContext) -> ParserTable:
    """``<think>`` and ``<response>`` of 3.3; "Here is my thought process:" and "Here is my response:" of 3.2."""
    tags = tagged(context, answer="response")
    spoken = TextState(
        into=REASONING,
        skip=WHITESPACE,
        exits=tuple(
            Exit(f"{here} my response:", CONTENT, before=WHITESPACE, after=WHITESPACE) for here in ("Here is", "Here's")
        ),
    )
    begins = tuple(Exit(f"{here} my thought process:", SPOKEN, at_start=True) for here in ("Here is", "Here's"))
    return ParserTable(
        states={**tags.states, SPOKEN: spoken}, content_exits=(*tags.content_exits, *begins), start=tags.start
    )
