"""``/v1/completions``."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, Field

from kernelet_server_openai.protocol.base import On, Texts, TokenIds
from kernelet_server_openai.protocol.errors import ApiError
from kernelet_server_openai.protocol.refused import refuse
from kernelet_server_openai.protocol.sampling import SamplingFields
from kernelet_server_openai.protocol.structured import StructuredFields
from kernelet_server_openai.protocol.usage import Usage

MAX_PROMPTS = 1024
"""Prompts of one request: each is a request of its own to the engine."""

MAX_CHOICES = 2048
"""Texts of one request: prompts times ``n``."""

OnePrompt = str | TokenIds
Prompts = Annotated[
    str
    | TokenIds
    | Annotated[Texts, Field(max_length=MAX_PROMPTS)]
    | Annotated[list[TokenIds], Field(fail_fast=True, max_length=MAX_PROMPTS)],
    Field(union_mode="left_to_right"),
]


class CompletionRequest(SamplingFields, StructuredFields):
    """A text to continue, or several."""

    LISTED: ClassVar[frozenset[str]] = SamplingFields.LISTED | {"prompt"}

    model: str | None = None
    prompt: Prompts
    max_tokens: int | None = 16
    logprobs: int | None = None
    add_special_tokens: On = True
    best_of: int | None = None
    suffix: Any = None

    @property
    def prompts(self) -> list[OnePrompt]:
        """Each prompt by itself; a list of integers is one."""
        return split_prompts(self.prompt)

    def check_refused(self) -> None:
        """Refuses what nothing here does.

        Raises:
            ApiError: 400, naming the field.
        """
        refuse("suffix", self.suffix, "leave it out: text is not put into the middle", (None, ""))
        if len(self.prompts) * (self.n or 1) > MAX_CHOICES:
            raise ApiError(
                400, f"n: got {self.n} for {len(self.prompts)} prompts: {MAX_CHOICES} texts at most", param="n"
            )
        if self.kv_transfer_params and len(self.prompts) > 1:
            raise ApiError(
                400,
                f"kv_transfer_params: they are of one prompt, and there are {len(self.prompts)}: send each by itself",
                param="kv_transfer_params",
            )
        if self.best_of is not None and self.best_of != (self.n or 1):
            raise ApiError(400, f"best_of: got {self.best_of}, only n itself is taken: leave it out", param="best_of")


def split_prompts(given: Prompts) -> list[OnePrompt]:
    """One or several prompts as a list; a list of integers is one prompt."""
    if isinstance(given, str) or not given or isinstance(given[0], int):
        return [given]  # type: ignore[list-item]
    return list(given)


class CompletionLogprobs(BaseModel):
    """A choice's log-probabilities, one entry a token; null where there is none."""

    text_offset: list[int]
    token_logprobs: list[float | None]
    tokens: list[str]
    top_logprobs: list[dict[str, float | None] | None]


class CompletionChoice(BaseModel):
    """One answer to one prompt."""

    index: int
    text: str
    logprobs: CompletionLogprobs | None
    finish_reason: str
    stop_reason: str | int | None = None
    structured: str | None = None
    token_ids: list[int] | None = None
    prompt_token_ids: list[int] | None = None
    prompt_logprobs: list[dict[str, Any] | None] | None = None


class Completion(BaseModel):
    """All answers, those of the first prompt first.

    Attributes:
        kv_transfer_params: What KV connectors say, e.g. where another engine finds the prompt's keys and values.
    """

    id: str
    object: Literal["text_completion"]
    created: int
    model: str
    choices: list[CompletionChoice]
    usage: Usage
    kv_transfer_params: dict[str, Any] | None = None
