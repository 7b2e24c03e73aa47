"""Token counts of outputs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kernelet.request.outputs import RequestOutput


def count_usage(outputs: Iterable[RequestOutput]) -> dict[str, Any]:
    """``usage`` of an answer that was made from these requests; the answers of one count its prompt once."""
    prompt = completion = cached = reasoning = 0
    parsed = False
    for output in outputs:
        prompt += len(output.prompt_token_ids)
        cached += output.num_cached_tokens
        completion += sum(len(choice.token_ids) for choice in output.outputs)
        reasoning += num_reasoning_tokens(output)
        parsed |= any(choice.message is not None for choice in output.outputs)
    found: dict[str, Any] = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": cached},
    }
    if parsed:
        found["completion_tokens_details"] = {"reasoning_tokens": reasoning}
    return found


def num_reasoning_tokens(output: RequestOutput) -> int:
    """Tokens of reasoning in all answers; 0 where nothing parses them."""
    return sum(choice.message.num_reasoning_tokens for choice in output.outputs if choice.message is not None)
