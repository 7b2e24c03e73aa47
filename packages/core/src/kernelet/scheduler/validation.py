"""The engine's own last look at a request; the frontend has checked all of its parameters before."""

from __future__ import annotations

from kernelet.contracts.pooling import POOLINGS
from kernelet.errors import ParameterError, PromptError
from kernelet.request.request import EngineRequest


def check_request(request: EngineRequest, max_model_len: int) -> None:
    """Raises what makes the request impossible to schedule.

    Raises:
        PromptError: the prompt is empty or does not fit the context.
        ParameterError: ``max_tokens`` is negative, or too large for the context beside the prompt, or not 0 where the
            prompt is pooled; or there is no such pooling.
    """
    prompt = len(request.prompt_token_ids)
    if prompt == 0:
        raise PromptError("the prompt is empty; give at least one token")
    if prompt > max_model_len:
        raise PromptError(f"the prompt has {prompt} tokens, the context only {max_model_len}; shorten it")
    if request.max_tokens < 0:
        raise ParameterError("max_tokens", f"must be at least 0, not {request.max_tokens}")
    if request.pooling is not None and request.pooling not in POOLINGS:
        raise ParameterError("pooling", f"got {request.pooling!r}, expected one of {', '.join(POOLINGS)}")
    if request.pooling is not None and request.max_tokens:
        raise ParameterError("max_tokens", f"must be 0 where a prompt is pooled, not {request.max_tokens}")
    if prompt + request.max_tokens > max_model_len:
        raise ParameterError(
            "max_tokens",
            f"{request.max_tokens} tokens after a prompt of {prompt} exceed the context of {max_model_len}; "
            f"ask for at most {max_model_len - prompt}",
        )
