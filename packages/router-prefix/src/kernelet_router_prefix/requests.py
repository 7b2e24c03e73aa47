"""Requests as they come, and what engines are sent of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from kernelet_router_prefix.errors import RouterError

PARAMS = "kv_transfer_params"

COMPLETIONS, CHAT = "/v1/completions", "/v1/chat/completions"

TO_PREFILL: Mapping[str, Any] = MappingProxyType(
    {
        "do_remote_decode": True,
        "do_remote_prefill": False,
        "remote_engine_id": None,
        "remote_block_ids": None,
        "remote_host": None,
        "remote_port": None,
    }
)
"""What a prefill engine is told: another one goes on. The form is that of vLLM's connectors."""

OF_THE_TEXT = frozenset(
    {
        *("stream", "stream_options", "max_tokens", "max_completion_tokens", "min_tokens", "stop", "ignore_eos"),
        *("logprobs", "top_logprobs", "prompt_logprobs", "return_token_ids", "echo", "best_of", "n"),
        *("response_format", "structured_outputs"),
    }
)
"""Fields that say what text there is to be: the engine that computes the prompt does not need them."""

TOKENIZED = (
    *("model", "messages", "tools", "tool_choice", "chat_template", "chat_template_kwargs", "add_generation_prompt"),
    *("continue_final_message", "reasoning_effort"),
)
"""Fields that decide which tokens a chat is."""


@dataclass(frozen=True, kw_only=True)
class Routed:
    """One request.

    Attributes:
        path: Where it came to.
        body: As it came.
        fields: The same, read.
    """

    path: str
    body: bytes
    fields: Mapping[str, Any]

    @property
    def salt(self) -> str | None:
        """What keeps its blocks apart."""
        salt = self.fields.get("cache_salt")
        return salt if isinstance(salt, str) else None

    @property
    def single(self) -> bool:
        """Whether it asks for one answer to one prompt: only such a one can be handed from engine to engine."""
        return self.fields.get("n") in {None, 1} and (self.path == CHAT or self.prompt is not None)

    @property
    def prompt(self) -> str | list[int] | None:
        """The text or token ids of a completion's only prompt; None: there are several, or it is none."""
        prompt = self.fields.get("prompt")
        if isinstance(prompt, list) and len(prompt) == 1 and isinstance(prompt[0], str | list):
            prompt = prompt[0]
        if isinstance(prompt, str) or (isinstance(prompt, list) and prompt and set(map(type, prompt)) == {int}):
            return prompt
        return None

    @property
    def token_ids(self) -> list[int] | None:
        """Those of a prompt that came as such."""
        prompt = self.prompt if self.path == COMPLETIONS else None
        return prompt if isinstance(prompt, list) else None

    def to_tokenize(self) -> dict[str, Any] | None:
        """What an engine is asked to learn the prompt's tokens; None: it cannot tell."""
        if self.path == CHAT:
            return {name: self.fields[name] for name in TOKENIZED if self.fields.get(name) is not None}
        prompt = self.prompt
        if not isinstance(prompt, str):
            return None
        passed = {name: self.fields[name] for name in ("model", "add_special_tokens") if name in self.fields}
        return {**passed, "prompt": prompt}

    def to_prefill(self) -> bytes:
        """The body for the engine that computes the prompt: one token, which nobody sees."""
        kept = {name: value for name, value in self.fields.items() if name not in OF_THE_TEXT}
        return json.dumps({**kept, "max_tokens": 1, PARAMS: dict(TO_PREFILL)}).encode()

    def to_decode(self, params: Mapping[str, Any] | None) -> bytes:
        """The body for the engine that makes the text.

        Args:
            params: What the first engine said of the prompt's keys and values.
        """
        return self.body if params is None else json.dumps({**self.fields, PARAMS: dict(params)}).encode()


def read_request(path: str, body: bytes, *, pairs: bool) -> Routed:
    """A request's body; engines check what is in it.

    Raises:
        RouterError: 400.
    """
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise RouterError(400, f"the body is no JSON: {error}", "invalid_json") from None
    if not isinstance(fields, dict):
        raise RouterError(400, "the body is no JSON object", "invalid_json")
    if pairs and fields.get(PARAMS):
        raise RouterError(400, f"{PARAMS}: the router sets them: leave it out", "unknown_field", PARAMS)
    return Routed(path=path, body=body, fields=fields)
