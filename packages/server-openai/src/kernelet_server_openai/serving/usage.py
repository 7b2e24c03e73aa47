"""Token counts of outputs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kernelet.request.outputs import RequestOutput


def count_usage(outputs: Iterable[RequestOutput]) -> dict[str, Any]:
    """``usage`` of an answer that was made from these requests; the answers of one count its prompt once."""
    prompt = completion = cached = 0
    for output in outputs:
        prompt += len(output.prompt_token_ids)
        cached += output.num_cached_tokens
        completion += sum(len(choice.token_ids) for choice in output.outputs)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": cached},
    }
