"""What a client and KV connectors say to each other: ``kv_transfer_params`` of requests, answers and last chunks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kernelet.request.outputs import RequestOutput
from kernelet_server_openai.serving.sending import ENCODER

if TYPE_CHECKING:
    from kernelet.engine.prompts import ParsedPrompt


def with_facts(prompt: ParsedPrompt, cache_salt: str | None, params: Mapping[str, Any] | None) -> ParsedPrompt:
    """A prompt of messages with what the request says beside them."""
    if cache_salt is not None:
        prompt = replace(prompt, cache_salt=cache_salt)
    return prompt if params is None else replace(prompt, kv_transfer_params=params)


def handed_over(outputs: Sequence[RequestOutput]) -> dict[str, Any]:
    """The field, where there is something to say."""
    found = next((one.kv_transfer_params for one in outputs if one.kv_transfer_params is not None), None)
    return {} if found is None else {"kv_transfer_params": found}


def told_handover(output: RequestOutput) -> bytes:
    """The same as a further member of a chunk."""
    found = handed_over((output,))
    return b"," + ENCODER.encode(found)[1:-1] if found else b""
