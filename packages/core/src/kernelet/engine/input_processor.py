"""A prompt and its parameters to what the engine takes. All that can be wrong with a request is found here."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from kernelet.config import ModelConfig
from kernelet.contracts.platform import PlatformConfig
from kernelet.contracts.sampling import SamplerParams, SamplingParams
from kernelet.engine.output_parsing import OutputParsing
from kernelet.engine.prompts import ParsedPrompt, parse_prompt
from kernelet.engine.reasoning import without_thoughts
from kernelet.engine.structured.prepare import PreparedConstraint, StructuredOutputs
from kernelet.engine.tool_choice import calls_or_text
from kernelet.errors import ParameterError, PromptError
from kernelet.request.extra_args import Validators
from kernelet.request.kv_params import ConnectorParams, check_kv_params
from kernelet.request.lengths import resolve_max_tokens
from kernelet.request.prompts import check_prompt_token_ids
from kernelet.request.request import EngineRequest
from kernelet.request.structured import StructuredRequest
from kernelet.request.validation import validate_sampling_params
from kernelet.request.values import integer, shown
from kernelet.structured.tags.calls import ToolCalls
from kernelet.text.bad_words import bad_words_token_ids
from kernelet.text.tokenizer import Tokenizer

PARTIAL = frozenset({"structural_tag", "tool_calls"})
"""Constraints of texts of which only parts are held to a form."""

MAX_PRIORITY = 2**31 - 1
LETTERS_A_TOKEN = 16
"""Of a text that is longer than so many a token of the context, the beginning alone is tokenized at first."""

GOLDEN = 0x9E3779B97F4A7C15
MASK_64 = 2**64 - 1


@dataclass(frozen=True, kw_only=True)
class PreparedRequest:
    """A request that passed every check.

    Attributes:
        request_id: As users know it.
        prompt: Its text, where it came as text.
        prompt_token_ids: Never empty.
        params: Checked.
        eos_token_ids: Ids that end it and are no stop token of the user's.
        choices: One request to the engine for each of ``params.n`` answers.
        parsing: How the answers are parsed; None: they are not.
        structured: What the answers are held to; None: they are free.
    """

    request_id: str
    prompt: str | None
    prompt_token_ids: list[int]
    params: SamplingParams
    eos_token_ids: frozenset[int]
    choices: tuple[EngineRequest, ...]
    parsing: OutputParsing | None = None
    structured: PreparedConstraint | None = None


class InputProcessor:
    """Checks and prepares requests. Safe to use from several threads.

    Args:
        tokenizer: None where the model has none: prompts must be token ids, and output has no text.
        model: Vocabulary and context.
        platform: May refuse a request.
        validators: Checks of ``extra_args`` by plugin.
        structured: Prepares constraints.
        connectors: Check ``kv_transfer_params``.
    """

    def __init__(
        self,
        tokenizer: Tokenizer | None,
        model: ModelConfig,
        platform: PlatformConfig,
        validators: Validators,
        structured: StructuredOutputs | None = None,
        connectors: Sequence[ConnectorParams] = (),
    ) -> None:
        self._tokenizer = tokenizer
        self._model = model
        self._platform = platform
        self._validators = validators
        self._structured = structured or StructuredOutputs()
        self._connectors = connectors

    def prepare(
        self,
        prompt: object,
        params: object,
        *,
        request_id: str,
        priority: object = 0,
        constraint: PreparedConstraint | None = None,
    ) -> PreparedRequest:
        """Everything that can be said about a request before it runs.

        Args:
            prompt: In any form.
            params: ``SamplingParams``.
            request_id: As users know it.
            priority: Smaller is served first.
            constraint: What ``wanted_constraint`` found, as it was prepared; None: prepare it here, which may take
                seconds.

        Raises:
            RequestError: the first thing that is wrong with it.
        """
        checked = validate_sampling_params(params, self._model.vocab_size, self._validators)
        parsed = parse_prompt(prompt)
        ids = self.token_ids(parsed)
        max_tokens = resolve_max_tokens(len(ids), checked.max_tokens, self._model.max_model_len)
        eos = self._eos_token_ids() if not checked.ignore_eos else frozenset()
        stops = tuple(dict.fromkeys((*checked.stop_token_ids, *sorted(eos))))
        check_room_before_min_tokens(checked, max_tokens, stops)
        self._platform.validate_request(len(ids), checked)
        worker_params = self._worker_params(checked, stops)
        wanted = wanted_constraint(parsed, checked)
        if wanted is None:
            constraint = None
        elif constraint is None:
            constraint = self._structured.prepare(wanted)
        shared = {
            "prompt_token_ids": ids,
            "max_tokens": max_tokens,
            "stop_token_ids": stops,
            "priority": integer("priority", priority, -MAX_PRIORITY, MAX_PRIORITY),
            "arrival_time": time.monotonic(),
            "cache_salt": parsed.cache_salt,
            "structured": self._held_to(constraint, parsed.parsing),
            "kv_transfer_params": check_kv_params(parsed.kv_transfer_params, self._connectors, checked.n),
        }
        return PreparedRequest(
            request_id=request_id,
            prompt=parsed.text,
            prompt_token_ids=ids,
            params=checked,
            eos_token_ids=eos - set(checked.stop_token_ids),
            choices=tuple(make_choices(request_id, worker_params, checked, shared)),
            parsing=self._parsing(constraint, wanted, parsed.parsing),
            structured=constraint,
        )

    def prepare_pooled(self, prompt: object, pooling: str, *, request_id: str, priority: object = 0) -> EngineRequest:
        """The request of a prompt that generates nothing: its states are pooled.

        Raises:
            RequestError: the first thing that is wrong with it.
        """
        parsed = parse_prompt(prompt)
        check_kv_params(parsed.kv_transfer_params, ())
        ids = self.token_ids(parsed)
        resolve_max_tokens(len(ids), 0, self._model.max_model_len)
        self._platform.validate_request(len(ids), SamplingParams(max_tokens=0))
        return EngineRequest(
            request_id=request_id,
            prompt_token_ids=ids,
            params=SamplerParams(seed=0),
            max_tokens=0,
            priority=integer("priority", priority, -MAX_PRIORITY, MAX_PRIORITY),
            arrival_time=time.monotonic(),
            cache_salt=parsed.cache_salt,
            pooling=pooling,
        )

    def token_ids(self, prompt: object) -> list[int]:
        """The checked token ids of a prompt in any form.

        Raises:
            PromptError: it has none of the forms, is empty or far too long, or has an id outside the vocabulary.
        """
        parsed = parse_prompt(prompt)
        ids, context = parsed.token_ids, self._model.max_model_len
        if ids is None:
            text = parsed.text or ""
            if self._exceeds(text, context):
                raise PromptError(
                    f"the prompt has {len(text)} characters, more than a context of {context} tokens can hold: "
                    "shorten it"
                )
            ids = self.encode(text, add_special_tokens=parsed.add_special_tokens)
        if isinstance(ids, list) and len(ids) > context:
            resolve_max_tokens(len(ids), None, context)
        return check_prompt_token_ids(ids, self._model.vocab_size)

    def _exceeds(self, text: str, context: int) -> bool:
        """Whether a text is too long, told without tokenizing all of it: what its beginning holds, it holds too."""
        tokenizer, start = self._tokenizer, context * LETTERS_A_TOKEN
        if tokenizer is None or tokenizer.surely_exceeds(text, context):
            return tokenizer is not None
        if len(text) <= start:
            return False
        # the cut may change the tokens beside it
        return len(tokenizer.encode(text[:start], add_special_tokens=False)) > context + tokenizer.longest_token

    def encode(self, text: str, *, add_special_tokens: bool = True) -> list[int]:
        """The token ids of a text.

        Raises:
            PromptError: the model has no tokenizer, or the text has no tokens.
        """
        if self._tokenizer is None:
            raise PromptError(f"{self._model.model} has no tokenizer: give token ids ({{'prompt_token_ids': [...]}})")
        return self._tokenizer.encode(text, add_special_tokens=add_special_tokens)

    def _eos_token_ids(self) -> frozenset[int]:
        known = self._tokenizer.eos_token_ids if self._tokenizer is not None else model_eos_ids(self._model.hf_config)
        return frozenset(index for index in known if 0 <= index < self._model.vocab_size)

    def _parsing(
        self, constraint: PreparedConstraint | None, wanted: object, parsing: OutputParsing | None
    ) -> OutputParsing | None:
        """How answers are parsed: where all of the content is held to a form, nothing in it is a marker."""
        if constraint is None or parsing is None:
            return parsing
        if constraint.constraint.kind in PARTIAL:
            if isinstance(wanted, ToolCalls) and constraint.engine is not None:
                return parsing.held_to_calls(wanted)
            return parsing
        return parsing.held(reasons=not self._structured.in_reasoning)

    def _held_to(
        self, constraint: PreparedConstraint | None, parsing: OutputParsing | None
    ) -> StructuredRequest | None:
        """What the engine is told of a constraint."""
        if constraint is None:
            return None
        if self._tokenizer is None:
            raise ParameterError(
                "structured_outputs", f"{self._model.model} has no tokenizer, so there is no text: leave it out"
            )
        if constraint.engine is None:
            return None
        reasoning, states = None, constraint.states
        if parsing is not None and parsing.reasoner is not None and not self._structured.in_reasoning:
            gate = parsing.reasoner.gate()
            reasoning = msgspec.structs.replace(gate, max_whitespace=self._structured.max_whitespace)
            states = without_thoughts(states, parsing.reasoner.openings())
        return StructuredRequest(engine=constraint.engine, others=constraint.others, states=states, reasoning=reasoning)

    def _worker_params(self, params: SamplingParams, stops: tuple[int, ...]) -> SamplerParams:
        """All but the seed, which differs by choice."""
        words: Sequence[str] = params.bad_words
        if (words or params.stop) and self._tokenizer is None:
            field = "bad_words" if words else "stop"
            raise ParameterError(field, f"{self._model.model} has no tokenizer, so there is no text: leave it out")
        return SamplerParams(
            seed=0,
            temperature=params.temperature,
            top_p=params.top_p,
            top_k=params.top_k,
            min_p=params.min_p,
            presence_penalty=params.presence_penalty,
            frequency_penalty=params.frequency_penalty,
            repetition_penalty=params.repetition_penalty,
            min_tokens=params.min_tokens,
            suppressed_token_ids=stops if params.min_tokens else (),
            bad_words_token_ids=bad_words_token_ids(self._tokenizer, words) if words and self._tokenizer else (),
            logit_bias=params.logit_bias,
            allowed_token_ids=None if params.allowed_token_ids is None else tuple(params.allowed_token_ids),
            logprobs=params.logprobs,
            prompt_logprobs=params.prompt_logprobs,
            extra_args=params.extra_args,
        )


def wanted_constraint(prompt: object, params: object) -> object | None:
    """What a request asks to be held to: ``structured_outputs``, the calls of its tools, or either; None: nothing.

    Raises:
        ParameterError: both, and they do not go together.
    """
    asked = getattr(params, "structured_outputs", None)  # that it is SamplingParams is checked later
    parsing = prompt.parsing if isinstance(prompt, ParsedPrompt) else None
    calls = None if parsing is None else parsing.calls
    if asked is None or parsing is None:
        return calls if asked is None else asked
    either = calls_or_text(calls or parsing.offered, asked)
    if either is None and calls is not None:
        field = "tools" if calls.choice == "auto" else "tool_choice"
        raise ParameterError(field, "an answer cannot be held to calls and to structured_outputs: leave one out")
    return asked if either is None else either


def make_choices(
    request_id: str, worker_params: SamplerParams, params: SamplingParams, shared: dict[str, Any]
) -> Iterable[EngineRequest]:
    """One engine request an answer; only the first scores the prompt."""
    seed = secrets.randbits(63) if params.seed is None else params.seed
    for index in range(params.n):
        mine = msgspec.structs.replace(
            worker_params,
            seed=choice_seed(seed, index),
            prompt_logprobs=worker_params.prompt_logprobs if index == 0 else None,
        )
        name = f"{request_id}/{index}" if params.n > 1 else request_id
        yield EngineRequest(request_id=name, params=mine, **shared)


def choice_seed(seed: int, index: int) -> int:
    """The seed of an answer: the request's own for the first, whatever ``n`` is; far apart for others.

    The mixing function is SplitMix64 (Steele, Lea and Flood, 2014), cut to 63 bits.
    """
    if index == 0:
        return seed
    mixed = (seed + index * GOLDEN) & MASK_64
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & MASK_64
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & MASK_64
    return (mixed ^ (mixed >> 31)) >> 1


def check_room_before_min_tokens(params: SamplingParams, max_tokens: int, stops: tuple[int, ...]) -> None:
    """``min_tokens`` must be reachable.

    Raises:
        ParameterError: it is not.
    """
    if params.min_tokens > max_tokens:
        raise ParameterError(
            "min_tokens", f"got {params.min_tokens}, but the context leaves {max_tokens} after the prompt: lower it"
        )
    allowed = params.allowed_token_ids
    if params.min_tokens and allowed is not None and set(stops).issuperset(allowed):
        raise ParameterError(
            "min_tokens", "each of allowed_token_ids ends the text, so there is nothing to choose before min_tokens"
        )


def model_eos_ids(hf_config: Any) -> list[int]:
    """``eos_token_id`` of config.json: an id, a list, or nothing."""
    value = hf_config.get("eos_token_id")
    return [] if value is None else list(value) if isinstance(value, list) else [value]


def check_request_id(request_id: object) -> str:
    """A request's name as users give it.

    Raises:
        ParameterError: it is no text, empty, or could be taken for one of a choice.
    """
    if not isinstance(request_id, str) or not request_id or "/" in request_id:
        raise ParameterError("request_id", f"got {shown(request_id)}, expected text without '/'")
    return request_id
