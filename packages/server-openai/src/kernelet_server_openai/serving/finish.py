"""Why an answer ended, for whole answers and streams alike."""

from __future__ import annotations

from typing import Any

from kernelet.request.outputs import CompletionOutput


def finish_reason(choice: CompletionOutput) -> str | None:
    """What cut an answer or failed comes before its calls, and those before "stop"; None while it runs.

    Calls behind which a stop string of the request cut the answer do not end it. Arguments may be no object: then the
    client tells the model.
    """
    if choice.finish_reason != "stop" or choice.message is None or stopped(choice):
        return choice.finish_reason
    return "tool_calls" if choice.message.tool_calls else "stop"


def stopped(choice: CompletionOutput) -> bool:
    """Whether a stop string of the request cut the answer."""
    return isinstance(choice.stop_reason, str)


def ending(choice: CompletionOutput) -> dict[str, Any]:
    """What else is told of how an answer ended: what stopped it, and what became of the form that it was held to."""
    found: dict[str, Any] = {"stop_reason": choice.stop_reason}
    if choice.structured is not None:
        found["structured"] = choice.structured
    return found
