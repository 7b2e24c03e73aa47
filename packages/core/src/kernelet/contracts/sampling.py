"""Sampling parameters, log-probabilities and logits processors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from kernelet.contracts.offer import Offer, Settings

if TYPE_CHECKING:
    from torch import Tensor


class StructuredOutputsParams(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the text must look like: exactly one constraint, and how it is meant. Names as in vLLM. Since sampling 1.2.

    Attributes:
        json: A JSON schema (2020-12, or what its ``$schema`` says): an object, a bool, or either as text.
        json_object: True: any JSON object.
        regex: A regular expression that the whole text matches.
        choice: One of these texts.
        grammar: A grammar as text, in GBNF or in Lark's notation.
        structural_tag: Constraints that begin at a text, as an object or as text.
        backend: Name of the grammar engine; None: the operator's, else the best one that enforces the constraint.
        disable_any_whitespace: JSON is compact.
        disable_additional_properties: Objects of a schema have no properties but those that it names, unless it says
            otherwise.
        whitespace_pattern: Not supported: a value is refused.
    """

    json: str | bool | dict[str, Any] | None = None
    json_object: bool | None = None
    regex: str | None = None
    choice: Sequence[str] | None = None
    grammar: str | None = None
    structural_tag: str | dict[str, Any] | None = None
    backend: str | None = None
    disable_any_whitespace: bool = False
    disable_additional_properties: bool = False
    whitespace_pattern: str | None = None


class SamplingParams(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How tokens are chosen and when a request ends. Names and meaning as in vLLM and OpenAI's API.

    Checked by ``kernelet.request.validation``; making one checks nothing.

    Attributes:
        n: Number of answers.
        temperature: 0 means greedy.
        top_p: Smallest set of tokens whose probability reaches this, in (0, 1].
        top_k: Largest number of tokens to choose from; 0 or -1 means all.
        min_p: Tokens less likely than this share of the best token's probability are dropped, in [0, 1].
        presence_penalty: Subtracted from logits of tokens that were generated, in [-2, 2].
        frequency_penalty: The same, times the number of occurrences, in [-2, 2].
        repetition_penalty: Divides positive and multiplies negative logits of tokens in prompt or output; > 0.
        seed: Same seed, same text; None draws one in the frontend.
        max_tokens: Tokens to generate at most; None means up to the context's end.
        min_tokens: No stop before so many tokens.
        stop: Strings that end the text; not part of it unless ``include_stop_str_in_output``.
        stop_token_ids: Token ids that end it.
        ignore_eos: The end-of-sequence token does not stop (it stays eligible).
        bad_words: Strings that must not appear.
        logit_bias: Added to logits, by token id, in [-100, 100].
        allowed_token_ids: Only these may be chosen.
        logprobs: Log-probabilities of so many best tokens and of the chosen one; -1 means all.
        prompt_logprobs: The same for each prompt token after the first.
        skip_special_tokens: Special tokens do not appear in the text.
        spaces_between_special_tokens: A space between special tokens that do.
        include_stop_str_in_output: Keep the stop string.
        detokenize: False: token ids only.
        structured_outputs: What the text must look like; None: anything.
        extra_args: Arguments of plugins, by plugin name; the plugin validates its own.
    """

    n: int = 1
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    repetition_penalty: float = 1.0
    seed: int | None = None
    max_tokens: int | None = 16
    min_tokens: int = 0
    stop: str | Sequence[str] = ()
    stop_token_ids: Sequence[int] = ()
    ignore_eos: bool = False
    bad_words: Sequence[str] = ()
    logit_bias: dict[int, float] | None = None
    allowed_token_ids: Sequence[int] | None = None
    logprobs: int | None = None
    prompt_logprobs: int | None = None
    skip_special_tokens: bool = True
    spaces_between_special_tokens: bool = True
    include_stop_str_in_output: bool = False
    detokenize: bool = True
    structured_outputs: StructuredOutputsParams | None = None
    extra_args: dict[str, dict[str, Any]] | None = None


class SamplerParams(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the worker needs of a choice's parameters: validated, resolved, one seed a choice.

    Attributes:
        seed: Always set (63 bits); with the token's position it determines the draw.
        suppressed_token_ids: Ids that may not be chosen before ``min_tokens`` tokens were generated (all stops).
        bad_words_token_ids: Token sequences whose last token is forbidden once the others were generated.
        logprobs: None for none, -1 for all.
        prompt_logprobs: None for none, -1 for all.
    """

    seed: int
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    repetition_penalty: float = 1.0
    min_tokens: int = 0
    suppressed_token_ids: tuple[int, ...] = ()
    bad_words_token_ids: tuple[tuple[int, ...], ...] = ()
    logit_bias: dict[int, float] | None = None
    allowed_token_ids: tuple[int, ...] | None = None
    logprobs: int | None = None
    prompt_logprobs: int | None = None
    extra_args: dict[str, dict[str, Any]] | None = None


class TokenLogprobs(msgspec.Struct, frozen=True):
    """Log-probabilities at one position, of the raw distribution (before penalties, temperature and masks).

    Attributes:
        token_ids: The chosen (or prompt) token first, then the best ones, best first.
        logprobs: Natural logarithms, the same order; never NaN.
        ranks: 1-based rank of each among all tokens.
    """

    token_ids: list[int]
    logprobs: list[float]
    ranks: list[int]


@dataclass(frozen=True, kw_only=True)
class LogitsProcessorOffer(Offer):
    """A custom logits processor; opt-in. ``target`` is a ``LogitsProcessor`` class.

    Attributes:
        supports_speculation: Works with several draft tokens a step.
        batch_independent: A row's result does not depend on the other rows.
    """

    supports_speculation: bool = False
    batch_independent: bool = True


@dataclass(frozen=True, kw_only=True)
class LogitsRow:
    """One row of a step's logits: whose it is and what was generated so far."""

    index: int
    request_id: str
    prompt_token_ids: Sequence[int]
    output_token_ids: Sequence[int]


class LogitsProcessor(ABC):
    """Changes logits before sampling. Order: penalties, custom processors, allowed ids and bias, mask last."""

    def __init__(self, settings: Settings, vocab_size: int) -> None:
        self.settings = settings
        self.vocab_size = vocab_size

    @classmethod
    def validate_params(cls, arguments: Mapping[str, Any]) -> None:
        """Checks ``extra_args[plugin]`` of one request, in the frontend.

        Raises:
            ParameterError: naming the argument.
        """

    @abstractmethod
    def add_request(self, request_id: str, arguments: Mapping[str, Any], prompt_token_ids: Sequence[int]) -> bool:
        """A request starts (or resumes); False: nothing to do for it, ``apply`` will not see its rows."""

    def remove_request(self, request_id: str) -> None:
        """The request ended or was preempted."""

    @abstractmethod
    def apply(self, logits: Tensor, rows: Sequence[LogitsRow]) -> Tensor:
        """Logits [all rows, vocab_size] in, the same out; may work in place; changes only the named rows."""
