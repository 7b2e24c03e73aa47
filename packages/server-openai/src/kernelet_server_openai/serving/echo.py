"""``echo``: a completion begins with its prompt, and with the prompt's log-probabilities if any are wanted."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from kernelet.contracts.sampling import SamplingParams
from kernelet.request.outputs import RequestOutput
from kernelet.text.tokenizer import Tokenizer
from kernelet_server_openai.protocol.completions import CompletionRequest
from kernelet_server_openai.serving.logprobs import CompletionLogprobsWriter, Position


class Echo:
    """What of its prompt an answer shows; nothing unless it was asked for.

    Args:
        request: What was asked for.
        tokenizer: None: tokens have no text.
    """

    def __init__(self, request: CompletionRequest, tokenizer: Tokenizer | None) -> None:
        self._request = request
        self._tokenizer = tokenizer

    def params(self, params: SamplingParams) -> SamplingParams:
        """With the log-probabilities that an echoed prompt needs."""
        wanted = self._request.logprobs
        if not self._request.echo or wanted is None:
            return params
        given = params.prompt_logprobs
        most = wanted if given is None or wanted < 0 else -1 if given < 0 else max(wanted, given)
        return msgspec.structs.replace(params, prompt_logprobs=most)

    def text(self, output: RequestOutput) -> str:
        """The prompt's text."""
        if not self._request.echo:
            return ""
        if output.prompt is not None:
            return output.prompt
        return "" if self._tokenizer is None else self._tokenizer.decode(output.prompt_token_ids)

    def token_ids(self, output: RequestOutput) -> Sequence[int]:
        """The prompt's tokens."""
        return output.prompt_token_ids if self._request.echo else ()

    def positions(self, output: RequestOutput) -> Sequence[Position | None]:
        """The prompt's log-probabilities; the first token has none."""
        return (output.prompt_logprobs or ()) if self._request.echo else ()

    def texts(self, positions: Sequence[Position | None], token_ids: Sequence[int]) -> list[bytes]:
        """Bytes of the tokens that have no log-probability."""
        return [
            self._tokenizer.token_bytes(index) if position is None and self._tokenizer is not None else b""
            for position, index in zip(positions, token_ids, strict=True)
        ]

    def writer(self) -> CompletionLogprobsWriter:
        """Of one choice."""
        assert self._request.logprobs is not None
        hides = self._request.skip_special_tokens is not False
        return CompletionLogprobsWriter(
            self._request.logprobs,
            as_ids=self._request.return_tokens_as_token_ids,
            is_hidden=lambda index: hides and self._tokenizer is not None and self._tokenizer.is_special(index),
        )
