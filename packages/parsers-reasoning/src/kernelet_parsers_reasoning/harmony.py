"""gpt-oss: messages in channels, as long as no tool parser runs; with one, the tool parser's table reads them all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelet.contracts.parsing import CONTENT, REASONING, Exit, HeaderState, ParserTable, TextState, Turn

if TYPE_CHECKING:
    from kernelet.contracts.parsing import ParserContext

HEADER = "header"


def openai_gptoss(context: ParserContext) -> ParserTable:  # noqa: ARG001 - prompts always end before the header
    """The channel ``analysis`` is reasoning; ``final``, ``commentary`` and the arguments of calls are content."""
    ends = tuple(Exit(marker, CONTENT) for marker in ("<|end|>", "<|return|>", "<|call|>"))
    begins = (Exit("<|channel|>", HEADER), Exit("<|start|>", HEADER))
    return ParserTable(
        states={
            HEADER: HeaderState(exits=(Exit("<|message|>", CONTENT),), read=read_header),
            REASONING: TextState(into=REASONING, exits=(*ends, *begins)),
        },
        content_exits=(*ends, *begins),
        whole="harmony",
    )


def read_header(text: str) -> Turn:
    """``analysis``, or ``assistant<|channel|>analysis``, with a recipient and a content type behind it."""
    channel = text.rpartition("<|channel|>")[2].split()
    return Turn(REASONING if channel[:1] == ["analysis"] else CONTENT)
