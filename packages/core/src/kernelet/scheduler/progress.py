"""How far a request can be scheduled, counting what is in flight."""

from __future__ import annotations

from kernelet.request.request import Request


def tokens_to_compute(request: Request) -> int:
    """Tokens that are known or in flight and not scheduled yet. The last token that a request may generate never is."""
    data = request.data
    last = len(data.prompt_token_ids) + max(0, data.max_tokens - 1)
    return min(len(request.token_ids) + request.num_placeholders, last) - request.num_computed_tokens


def samples(request: Request, num_tokens: int) -> bool:
    """Whether computing ``num_tokens`` more tokens brings a request to where its next token is sampled."""
    end = request.num_computed_tokens + num_tokens
    return request.data.max_tokens > 0 and end == request.num_tokens + request.num_placeholders


def decodes(request: Request, num_tokens: int) -> bool:
    """Whether the next ``num_tokens`` tokens are one that was generated: no prompt, no recomputation."""
    return (
        num_tokens == 1
        and request.num_computed_tokens >= request.num_prompt_tokens
        and request.num_computed_tokens + 1 == request.num_tokens + request.num_placeholders
    )


def prompt_logprobs_missing(request: Request) -> int:
    """Prompt positions whose log-probabilities were asked for and not yet given."""
    if request.data.params.prompt_logprobs is None:
        return 0
    return request.num_prompt_tokens - 1 - request.num_prompt_logprobs


def hit_limit(request: Request) -> int | None:
    """Tokens that may be taken from the prefix index; None: any number.

    What still needs prompt log-probabilities must be computed, and all of a prompt whose states are averaged.
    """
    if request.data.pooling == "mean":
        return 0
    return request.num_prompt_logprobs if prompt_logprobs_missing(request) else None
