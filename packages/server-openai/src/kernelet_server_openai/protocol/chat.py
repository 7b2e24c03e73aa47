"""``/v1/chat/completions``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from kernelet.contracts.serving import ParsersInfo
from kernelet_server_openai.protocol.base import Metadata, On
from kernelet_server_openai.protocol.errors import ApiError
from kernelet_server_openai.protocol.messages import checked_messages
from kernelet_server_openai.protocol.refused import ChatOnlyFields
from kernelet_server_openai.protocol.sampling import SamplingFields
from kernelet_server_openai.protocol.tools import ChatTools, Effort, ToolUse, check_effort, held_by_tools, tool_use
from kernelet_server_openai.protocol.usage import Usage

TEMPLATE_FIELDS = (
    "chat_template",
    "add_generation_prompt",
    "continue_final_message",
    "chat_template_kwargs",
    "reasoning_effort",
)
MAX_TEMPLATE = 2**20
"""Characters of a request's own chat template: it is compiled."""

Messages = Annotated[list[dict[str, Any]], Field(fail_fast=True, min_length=1)]
Template = Annotated[str, Field(max_length=MAX_TEMPLATE)]


class TemplateFields(ChatOnlyFields):
    """Messages and tools, and how they become a prompt. What else a message may hold, the chat template decides."""

    messages: Messages
    chat_template: Template | None = None
    chat_template_kwargs: dict[str, Any] | None = None
    add_generation_prompt: bool | None = None
    continue_final_message: bool | None = None
    tools: ChatTools | None = None
    tool_choice: Any = None
    parallel_tool_calls: bool | None = None
    reasoning_effort: Effort | None = None

    def tool_use(self, parsers: ParsersInfo | None) -> ToolUse:
        """Tools, and how they are used.

        Args:
            parsers: What reads the answers; None: there are none.

        Raises:
            ApiError: 400: something is wrong with them, or nothing here does it.
        """
        check_effort("reasoning_effort", self.reasoning_effort, parsers)
        return tool_use(self.tools, self.tool_choice, parallel=self.parallel_tool_calls, parsers=parsers)

    def conversation(self) -> list[dict[str, Any]]:
        """The messages, checked.

        Raises:
            ApiError: 400, naming the place.
        """
        return checked_messages(self.messages)

    def template(self) -> dict[str, Any]:
        """Arguments of ``EngineClient.chat_prompt``."""
        return {name: value for name in TEMPLATE_FIELDS if (value := getattr(self, name)) is not None}


class ChatCompletionRequest(SamplingFields, TemplateFields):
    """A conversation to answer."""

    model: str | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
    metadata: Metadata | None = None
    safety_identifier: str | None = None
    prompt_cache_key: str | None = None
    include_reasoning: On = True

    @property
    def max_calls(self) -> int | None:
        """Calls that are returned at most; None: all."""
        return 1 if self.parallel_tool_calls is False else None

    @property
    def output_limit(self) -> int | None:
        """Tokens to make at most.

        Raises:
            ApiError: 400: two fields say two things.
        """
        old, new = self.max_tokens, self.max_completion_tokens
        if old is not None and new is not None and old != new:
            raise ApiError(
                400, f"max_tokens: got {old}, but max_completion_tokens is {new}: give one", param="max_tokens"
            )
        return old if new is None else new

    @property
    def num_logprobs(self) -> int | None:
        """``SamplingParams.logprobs``.

        Raises:
            ApiError: 400: ``top_logprobs`` without ``logprobs``.
        """
        if self.logprobs:
            return self.top_logprobs or 0
        if self.top_logprobs:
            raise ApiError(400, "top_logprobs: needs logprobs: set logprobs to true", param="top_logprobs")
        return None

    @property
    def held_by(self) -> str:
        """The field that says what the answer is held to."""
        if self.response_format is not None or self.structured_outputs:
            return self.structured_field
        return held_by_tools(self.tool_choice)

    @property
    def names(self) -> Mapping[str, str]:
        """The client's names of the engine's fields."""
        limit = "max_tokens" if self.max_completion_tokens is None else "max_completion_tokens"
        return {"logprobs": "top_logprobs", "max_tokens": limit, "structured_outputs": self.held_by}


class TokenLogprob(BaseModel):
    """A token; null where the probability is 0."""

    token: str
    logprob: float | None
    bytes: list[int]


class ChatLogprob(TokenLogprob):
    """A token of the answer, and what could have been there."""

    top_logprobs: list[TokenLogprob]


class ChatLogprobs(BaseModel):
    """A choice's log-probabilities."""

    content: list[ChatLogprob]
    refusal: None = None


class CalledFunction(BaseModel):
    """A function and its arguments: JSON, as the model wrote it."""

    name: str
    arguments: str


class ChatToolCall(BaseModel):
    """A call that the client is to make."""

    id: str
    type: Literal["function"]
    function: CalledFunction


class ChatMessage(BaseModel):
    """An answer.

    Attributes:
        content: Null where there are calls instead.
        reasoning: What the model thought, where a reasoning parser runs.
        reasoning_content: The same.
    """

    role: Literal["assistant"]
    content: str | None
    refusal: None = None
    reasoning: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[ChatToolCall] | None = None


class ChatChoice(BaseModel):
    """One of ``n`` answers."""

    index: int
    message: ChatMessage
    logprobs: ChatLogprobs | None
    finish_reason: str
    stop_reason: str | int | None = None
    structured: str | None = None
    token_ids: list[int] | None = None


class ChatCompletion(BaseModel):
    """All answers.

    Attributes:
        kv_transfer_params: What KV connectors say, e.g. where another engine finds the prompt's keys and values.
    """

    id: str
    object: Literal["chat.completion"]
    created: int
    model: str
    choices: list[ChatChoice]
    usage: Usage
    prompt_logprobs: list[dict[str, Any] | None] | None = None
    prompt_token_ids: list[int] | None = None
    kv_transfer_params: dict[str, Any] | None = None
