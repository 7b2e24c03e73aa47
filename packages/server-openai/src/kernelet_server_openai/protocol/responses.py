"""``/v1/responses``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from kernelet.contracts.sampling import SamplingParams
from kernelet.contracts.serving import ParsersInfo
from kernelet_server_openai.protocol.base import Fields, Metadata, Salt, Texts, TokenIds, Zero
from kernelet_server_openai.protocol.chat import Template
from kernelet_server_openai.protocol.errors import ApiError
from kernelet_server_openai.protocol.refused import refuse
from kernelet_server_openai.protocol.structured import text_format_params
from kernelet_server_openai.protocol.tools import (
    Effort,
    ResponseTools,
    ToolUse,
    check_effort,
    function_of_responses,
    held_by_tools,
    tool_use,
)

LOGPROBS = "message.output_text.logprobs"
Count = Annotated[int, Field(ge=-(2**53), le=2**53)]
"""What every JSON reader can hold; the engine has narrower ranges."""
PASSED = (
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "presence_penalty",
    "frequency_penalty",
    "repetition_penalty",
    "seed",
    "min_tokens",
    "stop",
    "stop_token_ids",
    "ignore_eos",
    "bad_words",
    "extra_args",
)
"""Fields that have the names of ``SamplingParams``."""


class TextFields(Fields):
    """``text``."""

    format: Any = None
    verbosity: Any = None


class ReasoningFields(Fields):
    """``reasoning``."""

    effort: Effort | None = None
    summary: Any = None
    generate_summary: Any = None


class ResponseStreamOptions(Fields):
    """``stream_options``."""

    include_obfuscation: bool | None = None


class ResponsesRequest(Fields):
    """Input to answer. Null means what leaving a field out means; ranges are checked by the engine."""

    input: str | Annotated[list[dict[str, Any]], Field(fail_fast=True, min_length=1)]
    model: str | None = None
    instructions: str | None = None
    previous_response_id: str | None = None
    store: bool | None = None
    background: bool | None = None
    stream: bool | None = None
    stream_options: ResponseStreamOptions | None = None
    max_output_tokens: Count | None = None
    include: Texts | None = None
    top_logprobs: Count | None = None
    metadata: Metadata | None = None
    user: str | None = None
    safety_identifier: str | None = None
    prompt_cache_key: str | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    repetition_penalty: float | None = None
    seed: int | None = None
    min_tokens: int | None = None
    stop: str | Texts | None = None
    stop_token_ids: TokenIds | None = None
    ignore_eos: bool | None = None
    bad_words: Texts | None = None
    extra_args: dict[str, dict[str, Any]] | None = None
    chat_template: Template | None = None
    chat_template_kwargs: dict[str, Any] | None = None
    priority: Zero = 0
    cache_salt: Salt | None = None
    kv_transfer_params: dict[str, Any] | None = None
    text: TextFields | None = None
    tools: ResponseTools | None = None
    tool_choice: Any = None
    parallel_tool_calls: bool | None = None
    max_tool_calls: Any = None
    reasoning: ReasoningFields | None = None
    truncation: Any = None
    service_tier: Any = None
    conversation: Any = None
    prompt: Any = None
    context_management: Any = None
    prompt_cache_retention: Any = None

    def check_refused(self) -> None:
        """Refuses what nothing here does.

        Raises:
            ApiError: 400, naming the field.
        """
        refuse("max_tool_calls", self.max_tool_calls, "leave it out: the client makes the calls", (None,))
        if self.reasoning is not None:
            advice = "leave it out: reasoning is told as it is"
            for field in ("summary", "generate_summary"):
                refuse(f"reasoning.{field}", getattr(self.reasoning, field), advice, (None, "auto"))
        refuse("truncation", self.truncation, "leave it out: nothing is cut", (None, "disabled"))
        refuse("service_tier", self.service_tier, "leave it out: there is one tier", (None, "auto", "default"))
        for field in ("conversation", "prompt", "context_management", "prompt_cache_retention"):
            refuse(field, getattr(self, field), "leave it out", (None,))
        if self.text is not None:
            refuse("text.verbosity", self.text.verbosity, "leave it out", (None, "medium"))
        if unknown := [one for one in self.include or () if one != LOGPROBS]:
            raise ApiError(400, f"include: nothing here gives {unknown[0][:100]!r}, only {LOGPROBS!r}", param="include")
        if self.stream_options is not None:
            if not self.stream:
                raise ApiError(
                    400, "stream_options: only a stream has them: set stream to true", param="stream_options"
                )
            obfuscation = self.stream_options.include_obfuscation
            refuse("stream_options.include_obfuscation", obfuscation, "leave it out", (None, False))
        if self.background and self.stream:
            raise ApiError(
                400, "background: a stream cannot run in the background: give one of them", param="background"
            )

    @property
    def text_format(self) -> Any:
        """``text.format`` as it is told again."""
        given = None if self.text is None else self.text.format
        return {"type": "text"} if given is None else given

    @property
    def effort(self) -> Effort | None:
        """How much the model should think."""
        return None if self.reasoning is None else self.reasoning.effort

    def tool_use(self, parsers: ParsersInfo) -> ToolUse:
        """Tools, and how they are used.

        Raises:
            ApiError: 400: something is wrong with them, or nothing here does it.
        """
        check_effort("reasoning.effort", self.effort, parsers)
        return tool_use(
            self.tools,
            self.tool_choice,
            parallel=self.parallel_tool_calls,
            parsers=parsers,
            read=function_of_responses,
        )

    @property
    def num_logprobs(self) -> int | None:
        """``SamplingParams.logprobs``."""
        asked = LOGPROBS in (self.include or ())
        return (self.top_logprobs or 0) if asked or self.top_logprobs else None

    def sampling_params(self) -> SamplingParams:
        """What the engine takes; it checks all values."""
        values = {name: value for name in PASSED if (value := getattr(self, name)) is not None}
        return SamplingParams(
            **values,
            max_tokens=self.max_output_tokens,
            logprobs=self.num_logprobs,
            structured_outputs=None if self.text is None else text_format_params(self.text.format),
        )

    @property
    def names(self) -> Mapping[str, str]:
        """The client's names of the engine's fields."""
        return {
            "max_tokens": "max_output_tokens",
            "logprobs": "top_logprobs",
            "reasoning_effort": "reasoning.effort",
            "structured_outputs": self.held_by,
        }

    @property
    def held_by(self) -> str:
        """The field that says what the answer is held to."""
        text = self.text is not None and self.text.format is not None
        return "text.format" if text else held_by_tools(self.tool_choice)

    def template(self) -> dict[str, Any]:
        """Arguments of ``EngineClient.chat_prompt``."""
        names = ("chat_template", "chat_template_kwargs")
        effort = {} if self.effort is None else {"reasoning_effort": self.effort}
        return effort | {name: value for name in names if (value := getattr(self, name)) is not None}


class OutputText(BaseModel):
    """A piece of an answer."""

    type: Literal["output_text"]
    text: str
    annotations: list[Any]
    logprobs: list[Any] | None = None


class OutputMessage(BaseModel):
    """An answer."""

    id: str
    type: Literal["message"]
    role: Literal["assistant"]
    status: str
    content: list[OutputText]


class ReasoningText(BaseModel):
    """A piece of reasoning."""

    type: Literal["reasoning_text"]
    text: str


class OutputReasoning(BaseModel):
    """What the model thought."""

    id: str
    type: Literal["reasoning"]
    summary: list[Any]
    content: list[ReasoningText]
    encrypted_content: None = None
    status: str


class OutputCall(BaseModel):
    """A call that the client is to make; ``arguments`` are JSON, as the model wrote it."""

    id: str
    type: Literal["function_call"]
    call_id: str
    name: str
    arguments: str
    status: str


class InputTokensDetails(BaseModel):
    """Where input tokens came from."""

    cached_tokens: int
    cache_write_tokens: int


class OutputTokensDetails(BaseModel):
    """What output tokens were for."""

    reasoning_tokens: int


class ResponseUsage(BaseModel):
    """Tokens in and out."""

    input_tokens: int
    input_tokens_details: InputTokensDetails
    output_tokens: int
    output_tokens_details: OutputTokensDetails
    total_tokens: int


class ResponseObject(BaseModel):
    """What became of a request.

    Attributes:
        status: "queued", "in_progress", "completed", "incomplete", "failed" or "cancelled".
        kv_transfer_params: What KV connectors say, e.g. where another engine finds the prompt's keys and values.
    """

    model_config = {"extra": "allow"}

    id: str
    object: Literal["response"]
    created_at: int
    status: str
    model: str
    output: list[OutputMessage | OutputReasoning | OutputCall]
    usage: ResponseUsage | None = None
    error: dict[str, Any] | None = None
    incomplete_details: dict[str, Any] | None = None
    previous_response_id: str | None = None
    kv_transfer_params: dict[str, Any] | None = None


class DeletedResponse(BaseModel):
    """It is forgotten."""

    id: str
    object: Literal["response"]
    deleted: Literal[True]
