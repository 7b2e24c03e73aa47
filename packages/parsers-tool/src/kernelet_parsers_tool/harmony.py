"""gpt-oss: messages with headers that name channel and recipient ("harmony")."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from kernelet.contracts.parsing import (
    CONTENT,
    REASONING,
    ArgumentsState,
    CallName,
    Exit,
    HeaderState,
    ParserContext,
    ParserTable,
    TextState,
    Turn,
)

_CHANNEL: Final = re.compile(r"<\|channel\|>\s*(\w+)")
_RECIPIENT: Final = re.compile(r"\bto=([^\s<]+)")
_FUNCTIONS: Final = "functions."

_HEADERS: Final = (Exit("<|start|>", "header"), Exit("<|channel|>", "header", keeps=True))
_ENDS: Final = tuple(Exit(marker, "between", closes=True) for marker in ("<|end|>", "<|call|>", "<|return|>"))


def harmony(context: ParserContext) -> ParserTable:
    """Calls are messages to a function; ``analysis`` is reasoning, and so is what goes to a tool that is not declared.

    Without a reasoning parser, reasoning is content.
    """
    read = _reader(frozenset(tool["name"] for tool in context.tools))
    exits = (*_HEADERS, *_ENDS)
    return ParserTable(
        states={
            "between": TextState(exits=(*exits, Exit("to=", "header", at_start=True, keeps=True))),
            "header": HeaderState(exits=(Exit("<|message|>", ""),), read=read),
            "arguments": ArgumentsState(to=CONTENT),
            REASONING: TextState(into=REASONING if context.parses_reasoning else CONTENT, exits=exits),
        },
        content_exits=exits,
        start=_start(context.prompt, read),
        whole="harmony",
    )


def _reader(declared: frozenset[str]) -> Callable[[str], Turn]:
    def read(header: str) -> Turn:
        channels, recipient = _CHANNEL.findall(header), _RECIPIENT.search(header)
        to = recipient[1] if recipient else ""
        if to.startswith(_FUNCTIONS) or to in declared:
            return Turn("arguments", CallName(to.removeprefix(_FUNCTIONS)))
        thinks = channels[-1:] == ["analysis"] or to not in {"", "assistant"}
        return Turn(REASONING if thinks else CONTENT)

    return read


def _start(prompt: str, read: Callable[[str], Turn]) -> str:
    """Where the prompt leaves off: between messages (behind the role of the next), or inside one."""
    header, begun, message = prompt.rpartition("<|start|>")[2].partition("<|message|>")
    turn = read(header) if begun and not message.endswith("<|end|>") else Turn("between")
    return "between" if turn.call else turn.to
