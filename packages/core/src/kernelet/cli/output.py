"""What commands print: text as it grows, JSON a line, tables."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kernelet.request.message import ParsedMessage
    from kernelet.request.outputs import CompletionOutput, Logprob, RequestOutput


SHORT = 32
"""Columns up to this width, which hold names, are never wrapped."""


def print_json(value: object) -> None:
    """One object on one line."""
    print(json.dumps(value, ensure_ascii=False, allow_nan=False), flush=True)


def print_growing(outputs: Iterator[RequestOutput]) -> str:
    """Prints the first answer as it grows; returns its text."""
    shown = ""
    for output in outputs:
        text = output.outputs[0].text
        sys.stdout.write(printable(text[len(shown) :]))
        sys.stdout.flush()
        shown = text
    print(flush=True)
    return shown


def printable(text: str) -> str:
    """Text that the terminal's encoding has."""
    encoding = sys.stdout.encoding or "utf-8"
    return text.encode(encoding, "replace").decode(encoding)


def answer_object(index: int, output: RequestOutput, choice: CompletionOutput) -> dict[str, Any]:
    """One answer as ``run --json`` prints it; logarithms that are infinite become null."""
    found: dict[str, Any] = {
        "index": index,
        "choice": choice.index,
        "prompt": output.prompt,
        "prompt_token_ids": output.prompt_token_ids,
        "text": choice.text,
        "token_ids": choice.token_ids,
        "finish_reason": choice.finish_reason,
        "stop_reason": choice.stop_reason,
        "num_cached_tokens": output.num_cached_tokens,
    }
    if choice.structured is not None:
        found["structured"] = choice.structured
    if choice.message is not None:
        found["message"] = message_object(choice.message)
    if choice.logprobs is not None:
        found["cumulative_logprob"] = finite(choice.cumulative_logprob)
        found["logprobs"] = [position_object(position) for position in choice.logprobs]
    if output.prompt_logprobs is not None and choice.index == 0:
        found["prompt_logprobs"] = [position and position_object(position) for position in output.prompt_logprobs]
    return found


def message_object(message: ParsedMessage) -> dict[str, Any]:
    """What a parser made of an answer; ids of calls are made up, and left out."""
    return {
        "reasoning": message.reasoning,
        "content": message.content,
        "tool_calls": [{"name": call.name, "arguments": call.arguments} for call in message.tool_calls],
    }


def position_object(position: dict[int, Logprob]) -> list[dict[str, Any]]:
    """One position's candidates, the chosen token first."""
    return [
        {
            "token_id": index,
            "logprob": finite(entry.logprob),
            "rank": entry.rank,
            "token": entry.decoded_token,
            "bytes": list(entry.bytes),
        }
        for index, entry in position.items()
    ]


def finite(value: float | None) -> float | None:
    """JSON has no infinity."""
    return value if value is not None and math.isfinite(value) else None


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Columns as wide as they need; in a terminal long ones wrap, so that a row fits. Plain text when piped."""
    from rich.console import Console
    from rich.table import Table

    if not sys.stdout.isatty():
        widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
        for row in [header, *rows]:
            print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column, name in enumerate(header):
        short = max(len(row[column]) for row in [header, *rows]) <= SHORT
        table.add_column(name, overflow="fold", no_wrap=short)
    for row in rows:
        table.add_row(*row)
    Console().print(table, markup=False)
