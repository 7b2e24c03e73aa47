"""Why an answer ended, for whole answers and streams alike."""

from __future__ import annotations

from kernelet.request.message import ToolCall
from kernelet.request.outputs import CompletionOutput
from kernelet_server_openai.protocol.messages import decoded


def finish_reason(choice: CompletionOutput) -> str | None:
    """What cut an answer or failed comes before its calls, and those before "stop"; None while it runs.

    A call that its own end cut short, so that its arguments are no JSON, is none.
    """
    if choice.finish_reason != "stop" or choice.message is None:
        return choice.finish_reason
    return "tool_calls" if any(map(is_whole, choice.message.tool_calls)) else "stop"


def is_whole(call: ToolCall) -> bool:
    """Whether a call can be made."""
    return decoded(call.arguments) is not None
