"""The forms in which a prompt may come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from kernelet.errors import PromptError
from kernelet.request.values import is_integer, shown

if TYPE_CHECKING:
    from kernelet.engine.output_parsing import OutputParsing


class TextPrompt(TypedDict, total=False):
    """A text to be tokenized, without the tokenizer's own tokens if ``add_special_tokens`` says so."""

    prompt: str
    cache_salt: str
    kv_transfer_params: Mapping[str, Any]
    add_special_tokens: bool


class TokensPrompt(TypedDict, total=False):
    """Token ids; ``prompt`` may tell their text, which is only handed back."""

    prompt_token_ids: Sequence[int]
    prompt: str
    cache_salt: str
    kv_transfer_params: Mapping[str, Any]


Prompt = str | Sequence[int] | TextPrompt | TokensPrompt
"""A text, token ids, or a dictionary with one of them."""

KEYS = frozenset({"prompt", "prompt_token_ids", "cache_salt", "kv_transfer_params", "add_special_tokens"})


@dataclass(frozen=True, kw_only=True)
class ParsedPrompt:
    """One prompt: text or ids, or both. The ids are not checked yet.

    Attributes:
        kv_transfer_params: What is said to KV connectors, not checked yet.
        add_special_tokens: Whether the tokenizer adds its own (not to what a chat template rendered).
        parsing: How the answers are parsed; None: they are not.
    """

    text: str | None = None
    token_ids: Any = None
    cache_salt: str = ""
    kv_transfer_params: Any = None
    add_special_tokens: bool = True
    parsing: OutputParsing | None = None


def parse_prompt(prompt: object) -> ParsedPrompt:
    """Tells text from token ids.

    Raises:
        PromptError: it has none of the forms.
    """
    if isinstance(prompt, ParsedPrompt):
        return prompt
    if isinstance(prompt, str):
        return ParsedPrompt(text=prompt)
    if isinstance(prompt, Mapping):
        return parse_mapping(prompt)
    if isinstance(prompt, Sequence | np.ndarray) and not isinstance(prompt, bytes):
        return ParsedPrompt(token_ids=prompt)
    raise PromptError(
        f"the prompt is {shown(prompt)}, expected text, a list of token ids, or a dictionary with one of them"
    )


def parse_mapping(prompt: Mapping[Any, Any]) -> ParsedPrompt:
    """A dictionary with ``prompt`` or ``prompt_token_ids``."""
    unknown = [key for key in prompt if key not in KEYS]
    if unknown:
        raise PromptError(f"the prompt has the unknown key {shown(unknown[0])}; known are {', '.join(sorted(KEYS))}")
    text, ids, salt = prompt.get("prompt"), prompt.get("prompt_token_ids"), prompt.get("cache_salt", "")
    if text is None and ids is None:
        raise PromptError("the prompt is a dictionary without 'prompt' and 'prompt_token_ids': give one of them")
    if text is not None and not isinstance(text, str):
        raise PromptError(f"the prompt's text is {shown(text)}, expected a string")
    if not isinstance(salt, str):
        raise PromptError(f"cache_salt is {shown(salt)}, expected a string")
    adds = prompt.get("add_special_tokens", True)
    if not isinstance(adds, bool):
        raise PromptError(f"add_special_tokens is {shown(adds)}, expected true or false")
    return ParsedPrompt(
        text=text,
        token_ids=ids,
        cache_salt=salt,
        kv_transfer_params=prompt.get("kv_transfer_params"),
        add_special_tokens=adds,
    )


def split_prompts(prompts: object) -> list[object]:
    """One or several prompts as a list; a list of integers is one prompt.

    Raises:
        PromptError: it is neither a prompt nor a list of them.
    """
    if isinstance(prompts, str | Mapping | ParsedPrompt | np.ndarray):
        return [prompts]
    if isinstance(prompts, bytes) or not isinstance(prompts, Sequence):
        raise PromptError(f"the prompts are {shown(prompts)}, expected one prompt or a list of them")
    if len(prompts) and is_integer(prompts[0]):
        return [prompts]
    return list(prompts)
