"""When a request ends: the one place that decides stop and length."""

from __future__ import annotations

from dataclasses import dataclass

from kernelet.request.request import Request
from kernelet.request.status import FinishReason


@dataclass(frozen=True)
class Ending:
    """Why a request ends, and the token that ended it, where one did."""

    reason: FinishReason
    stop_token_id: int | None = None


def ending(request: Request, num_done: int, max_model_len: int) -> Ending | None:
    """Looks at a request after each token that is appended, and after each part of its prompt; None: it goes on.

    A stop token counts once ``min_tokens`` tokens come before it (until then the sampler suppresses it). At the limit a
    stop token is still a stop. A request that generates nothing ends when its prompt is computed: at its limit, or with
    all that it was asked for where its states are pooled.

    Args:
        request: Its last token is the new one, if any.
        num_done: Tokens computed by steps that have ended.
        max_model_len: Largest number of tokens of a request.
    """
    count = request.num_output_tokens
    if count == 0:
        scored = request.data.max_tokens == 0 and num_done >= request.num_prompt_tokens
        return Ending(FinishReason.LENGTH if request.data.pooling is None else FinishReason.STOP) if scored else None
    if count > request.data.params.min_tokens and request.token_ids[-1] in request.data.stop_token_ids:
        return Ending(FinishReason.STOP, request.token_ids[-1])
    if count >= request.data.max_tokens or request.num_tokens >= max_model_len:
        return Ending(FinishReason.LENGTH)
    return None
