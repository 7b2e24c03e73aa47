"""Parsed messages, made by hand."""

from __future__ import annotations

from kernelet.request.message import ParsedMessage, Run, ToolCall


def said(*parts: tuple[str, str]) -> tuple[ParsedMessage, list[tuple[str, str]]]:
    """A message of these parts, each of one token, and what its runs are."""
    message, runs = ParsedMessage(), []
    for number, (kind, text) in enumerate(parts):
        if kind == "call":
            message.tool_calls.append(ToolCall(id=f"id{len(message.tool_calls)}", name="f", arguments=text))
            message.runs.append(Run(kind="tool_call"))
            runs.append(("tool_call", text))
            continue
        if kind == "reasoning":
            message.reasoning += text
            message.num_reasoning_tokens += 1
        else:
            message.content += text
        if runs and runs[-1][0] == kind:
            runs[-1] = (kind, runs[-1][1] + text)
            message.runs[-1].length += len(text)
            message.runs[-1].tokens = range(message.runs[-1].tokens.start, number + 1)
        else:
            runs.append((kind, text))
            message.runs.append(Run(kind=kind, length=len(text), tokens=range(number, number + 1)))
    return message, runs
