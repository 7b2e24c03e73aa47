"""gpt-oss: messages in channels, as long as no tool parser runs; with one, the tool parser's table reads them all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelet.contracts.parsing import CONTENT, REASONING, Exit, HeaderState, ParserTable, TextState, Turn

if TYPE_CHECKING:
    from kernelet.contracts.parsing import ParserContext

HEADER = "header"
FIRST = "behind the role"


def openai_gptoss(context: ParserContext) -> ParserTable:
    """The channel ``analysis`` is reasoning; ``final``, ``commentary`` and the arguments of calls are content."""
    ends = tuple(Exit(marker, CONTENT) for marker in ("<|end|>", "<|return|>", "<|call|>"))
    exits = (*ends, Exit("<|channel|>", HEADER), Exit("<|start|>", HEADER))
    return ParserTable(
        states={
            FIRST: TextState(exits=(*exits, Exit("to=", HEADER, at_start=True))),
            HEADER: HeaderState(exits=(Exit("<|message|>", CONTENT),), read=read_header),
            REASONING: TextState(into=REASONING, exits=exits),
        },
        content_exits=exits,
        start=_start(context.prompt),
        whole="harmony",
    )


def _start(prompt: str) -> str:
    """The state behind the prompt: it ends in a header, or in a message that is to go on."""
    header, begun, message = prompt.rpartition("<|start|>")[2].partition("<|message|>")
    if not begun or message.endswith("<|end|>"):
        return FIRST
    return read_header(header).to


def read_header(text: str) -> Turn:
    """``analysis``, or ``assistant<|channel|>analysis``, with a recipient and a content type behind it."""
    channel = text.rpartition("<|channel|>")[2].split()
    return Turn(REASONING if channel[:1] == ["analysis"] else CONTENT)
