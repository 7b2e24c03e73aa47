"""The fields that say how text is made, in chat and completions alike."""

from __future__ import annotations

from typing import Any, ClassVar

from kernelet.contracts.sampling import SamplingParams, StructuredOutputsParams
from kernelet_server_openai.protocol.base import Fields, Name, Off, Salt, Texts, TokenIds, Zero
from kernelet_server_openai.protocol.errors import ApiError

PASSED = (
    "n",
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
    "allowed_token_ids",
    "prompt_logprobs",
    "skip_special_tokens",
    "spaces_between_special_tokens",
    "include_stop_str_in_output",
    "extra_args",
)
"""Fields that have the names of ``SamplingParams``."""


class StreamOptions(Fields):
    """``stream_options``."""

    include_usage: bool | None = None
    continuous_usage_stats: bool | None = None


class SamplingFields(Fields):
    """Null means what leaving a field out means. Ranges are checked by the engine."""

    LISTED: ClassVar[frozenset[str]] = frozenset({"allowed_token_ids"})

    n: int | None = None
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
    logit_bias: dict[str, float] | None = None
    allowed_token_ids: TokenIds | None = None
    prompt_logprobs: int | None = None
    skip_special_tokens: bool | None = None
    spaces_between_special_tokens: bool | None = None
    include_stop_str_in_output: bool | None = None
    extra_args: dict[str, dict[str, Any]] | None = None
    echo: Off = False
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    return_token_ids: Off = False
    return_tokens_as_token_ids: Off = False
    priority: Zero = 0
    cache_salt: Salt | None = None
    kv_transfer_params: dict[str, Any] | None = None
    request_id: Name | None = None
    user: str | None = None

    def sampling_params(
        self, *, max_tokens: int | None, logprobs: int | None, structured: StructuredOutputsParams | None = None
    ) -> SamplingParams:
        """What the engine takes; it checks all values."""
        values = {name: value for name in PASSED if (value := getattr(self, name)) is not None}
        bias = None if self.logit_bias is None else {token_id(key): bias for key, bias in self.logit_bias.items()}
        return SamplingParams(
            **values, logit_bias=bias, max_tokens=max_tokens, logprobs=logprobs, structured_outputs=structured
        )

    def check_stream_options(self) -> None:
        """``stream_options`` belong to streams.

        Raises:
            ApiError: 400.
        """
        if self.stream_options is not None and not self.stream:
            raise ApiError(400, "stream_options: only a stream has them: set stream to true", param="stream_options")

    @property
    def includes_usage(self) -> bool:
        """Whether a stream ends with a chunk that tells the usage."""
        return self.stream_options is not None and bool(self.stream_options.include_usage)

    @property
    def continuous_usage(self) -> bool:
        """Whether every chunk tells the usage so far."""
        return (
            self.includes_usage and self.stream_options is not None and bool(self.stream_options.continuous_usage_stats)
        )


def token_id(key: str) -> int:
    """A key of ``logit_bias``: JSON writes token ids as texts.

    Raises:
        ApiError: 400.
    """
    if not (key.isascii() and key.isdigit() and len(key) <= 20):
        shown = repr(key[:40])
        raise ApiError(400, f"logit_bias: got the key {shown}, expected a token id (digits)", param="logit_bias")
    return int(key)


def check_logprobs(field: str, value: int | None, limit: int) -> None:
    """No more log-probabilities a token than the server gives.

    Raises:
        ApiError: 400.
    """
    if value is not None and limit >= 0 and not 0 <= value <= limit:
        raise ApiError(400, f"{field}: got {value}, this server gives 0 to {limit} (--max-logprobs)", param=field)
