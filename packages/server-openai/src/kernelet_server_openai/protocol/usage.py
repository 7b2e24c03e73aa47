"""Token counts of a request."""

from __future__ import annotations

from pydantic import BaseModel


class PromptTokensDetails(BaseModel):
    """Where prompt tokens came from."""

    cached_tokens: int


class CompletionTokensDetails(BaseModel):
    """What completion tokens were for."""

    reasoning_tokens: int


class Usage(BaseModel):
    """Tokens in and out; several answers count their prompt once."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: PromptTokensDetails | None = None
    completion_tokens_details: CompletionTokensDetails | None = None
