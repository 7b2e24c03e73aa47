"""The table of sampling fields: how each value is checked and brought into one form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from kernelet.contracts.sampling import StructuredOutputsParams
from kernelet.errors import ParameterError
from kernelet.request import limits
from kernelet.request.structured_outputs import check_structured_outputs
from kernelet.request.values import boolean, integer, items, real, shown, texts, token_id, token_ids

Check = Callable[[str, Any, int], Any]
"""(field's name, value, size of the vocabulary) -> the value in its one form; raises ParameterError."""


def whole(low: int, high: int) -> Check:
    """An integer in [low, high]."""
    return lambda name, value, _vocab: integer(name, value, low, high)


def number(low: float, high: float, *, low_excluded: bool = False) -> Check:
    """A finite number in [low, high]."""
    return lambda name, value, _vocab: real(name, value, low, high, low_excluded=low_excluded)


def flag(name: str, value: object, _vocab: int) -> bool:
    """A bool."""
    return boolean(name, value)


def optional(check: Check) -> Check:
    """None, or what ``check`` accepts."""
    return lambda name, value, vocab: None if value is None else check(name, value, vocab)


def temperature(name: str, value: object, _vocab: int) -> float:
    """Tiny temperatures are greedy."""
    found = real(name, value, 0.0, limits.MAX_TEMPERATURE)
    return 0.0 if found < limits.MIN_TEMPERATURE else found


def top_k(name: str, value: object, vocab: int) -> int:
    """0 for all tokens, which -1 and numbers beyond the vocabulary mean too."""
    found = integer(name, value, -1, limits.MAX_COUNT)
    return 0 if found == -1 or found >= vocab else found


def logprobs(name: str, value: object, vocab: int) -> int:
    """-1 for all tokens, else how many of the best."""
    return integer(name, value, -1, vocab)


def stop(name: str, value: object, _vocab: int) -> tuple[str, ...]:
    """One string, or a list."""
    return strings((value,) if isinstance(value, str) else value, name, limits.MAX_STOP_STRINGS, limits.MAX_STOP_BYTES)


def bad_words(name: str, value: object, _vocab: int) -> tuple[str, ...]:
    """A list of words."""
    return strings(value, name, limits.MAX_BAD_WORDS, limits.MAX_BAD_WORDS_BYTES)


def strings(value: object, name: str, limit: int, limit_bytes: int) -> tuple[str, ...]:
    """None is an empty list, as in OpenAI's API."""
    return () if value is None else texts(name, value, limit, limit_bytes)


def stop_token_ids(name: str, value: object, vocab: int) -> tuple[int, ...]:
    """Ids that end the text."""
    return () if value is None else token_ids(name, value, vocab, limits.MAX_STOP_TOKEN_IDS)


def allowed_token_ids(name: str, value: object, vocab: int) -> tuple[int, ...]:
    """At least one id; as many as the vocabulary has."""
    found = token_ids(name, value, vocab, vocab)
    if not found:
        raise ParameterError(name, "got an empty list, which leaves nothing to choose: name one at least, or give None")
    return found


def logit_bias(name: str, value: object, vocab: int) -> dict[int, float] | None:
    """Token id to bias."""
    if not isinstance(value, Mapping):
        raise ParameterError(name, f"got {shown(value)}, expected a dictionary of token id to a number in [-100, 100]")
    entries = items(name, list(value.items()), limits.MAX_LOGIT_BIAS, "entries")
    return {token_id(name, key, vocab): real(f"{name}[{key}]", bias, -100.0, 100.0) for key, bias in entries} or None


def structured_outputs(name: str, value: object, _vocab: int) -> StructuredOutputsParams:
    """One constraint."""
    return check_structured_outputs(name, value)


SAMPLING_FIELDS: Mapping[str, Check] = MappingProxyType(
    {
        "n": whole(1, limits.MAX_N),
        "temperature": temperature,
        "top_p": number(0.0, 1.0, low_excluded=True),
        "top_k": top_k,
        "min_p": number(0.0, 1.0),
        "presence_penalty": number(-2.0, 2.0),
        "frequency_penalty": number(-2.0, 2.0),
        "repetition_penalty": number(limits.MIN_REPETITION_PENALTY, limits.MAX_REPETITION_PENALTY),
        "seed": optional(whole(0, limits.MAX_SEED)),
        "max_tokens": optional(whole(0, limits.MAX_COUNT)),
        "min_tokens": whole(0, limits.MAX_COUNT),
        "stop": stop,
        "stop_token_ids": stop_token_ids,
        "ignore_eos": flag,
        "bad_words": bad_words,
        "logit_bias": optional(logit_bias),
        "allowed_token_ids": optional(allowed_token_ids),
        "logprobs": optional(logprobs),
        "prompt_logprobs": optional(logprobs),
        "skip_special_tokens": flag,
        "spaces_between_special_tokens": flag,
        "include_stop_str_in_output": flag,
        "detokenize": flag,
        "structured_outputs": optional(structured_outputs),
    }
)
"""Every field of ``SamplingParams`` but ``extra_args``, which belongs to plugins."""
