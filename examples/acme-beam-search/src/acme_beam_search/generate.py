"""Beam search on an engine: every step of every search is one batch of requests for one token each."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from acme_beam_search.params import BeamSearchParams
from acme_beam_search.policy import PLUGIN
from acme_beam_search.search import Search
from kernelet.contracts.sampling import SamplingParams
from kernelet.errors import ParameterError, PromptError

if TYPE_CHECKING:
    from kernelet import LLM

POLICY = "beam-search"


@dataclass(frozen=True, kw_only=True)
class BeamSequence:
    """A sequence that was found.

    Attributes:
        token_ids: What was generated, a stop token included.
        text: Its text, without the stop token; empty where the model has no tokenizer.
        cumulative_logprob: Sum of its tokens' log-probabilities.
        score: That, over its length to the power of the length penalty.
        finish_reason: ``"stop"`` or ``"length"``.
    """

    token_ids: list[int]
    text: str
    cumulative_logprob: float
    score: float
    finish_reason: str


@dataclass(kw_only=True)
class BeamSearchOutput:
    """What was found for one prompt: ``beam_width`` sequences or fewer, best first."""

    prompt_token_ids: list[int]
    sequences: list[BeamSequence] = field(default_factory=list)


@dataclass
class Running:
    """A prompt and its search.

    Attributes:
        prompt: As it was given; token ids once the engine has told them.
    """

    prompt: Any
    search: Search
    extra_args: dict[str, dict[str, Any]] | None

    @property
    def prompts(self) -> list[Any]:
        """One a beam."""
        if not self.search.beams[0].token_ids:
            return [self.prompt]
        ids = self.prompt["prompt_token_ids"]
        return [self.prompt | {"prompt_token_ids": [*ids, *beam.token_ids]} for beam in self.search.beams]

    def params(self, vocab_size: int) -> SamplingParams:
        """For each of its beams: one token, and what else it could have been."""
        return SamplingParams(
            temperature=0.0,
            max_tokens=1,
            logprobs=min(self.search.num_candidates, vocab_size),
            ignore_eos=True,
            detokenize=False,
            extra_args=self.extra_args,
        )


def beam_search(llm: LLM, prompts: Sequence[Any], params: BeamSearchParams) -> list[BeamSearchOutput]:
    """Finds likely sequences for prompts.

    The prefix cache keeps what beams have in common. Under the policy ``beam-search`` the requests of one search run
    together, and before requests that came after the search began; the sequences are the same under any policy.

    Args:
        llm: The engine.
        prompts: A list of what ``LLM.generate`` takes: texts, lists of token ids, or dictionaries.
        params: For all of them.

    Returns:
        One result a prompt, in their order.

    Raises:
        RequestError: a prompt is wrong, or too long for ``max_tokens`` more.
        RequestFailedError: a request failed by itself.
        EngineDeadError: the engine stopped.
    """
    if isinstance(prompts, str | bytes | Mapping) or any(isinstance(prompt, int) for prompt in prompts):
        raise PromptError("the prompts are one prompt, expected a list of them: [prompt]")
    stops, began = stop_ids(llm, params), time.monotonic()
    together = llm.config.scheduler.policy == POLICY
    running = [
        Running(prompt, Search(params, stops), {PLUGIN: {"began": began, "search": number}} if together else None)
        for number, prompt in enumerate(prompts)
    ]
    while live := [one for one in running if not one.search.done]:
        advance(llm, live, params)
    return [output(llm, one) for one in running]


def advance(llm: LLM, live: Sequence[Running], params: BeamSearchParams) -> None:
    """One step of all searches.

    Raises:
        ParameterError: a prompt is too long.
    """
    vocab_size, context = llm.config.model.vocab_size, llm.config.model.max_model_len
    requests = [(prompt, one.params(vocab_size)) for one in live for prompt in one.prompts]
    outputs = iter(llm.generate([prompt for prompt, _ in requests], [each for _, each in requests], use_tqdm=False))
    for one in live:
        mine = [next(outputs) for _ in one.search.beams]
        if not one.search.beams[0].token_ids:
            ids = mine[0].prompt_token_ids
            if len(ids) + params.max_tokens > context:
                raise ParameterError(
                    "max_tokens",
                    f"{params.max_tokens} do not fit after {len(ids)} of a prompt: the context is {context}",
                )
            one.prompt = {"prompt_token_ids": ids, "cache_salt": salt(one.prompt)}
        found = [(result.outputs[0].logprobs or [{}])[0] for result in mine]
        one.search.advance([{token: entry.logprob for token, entry in tokens.items()} for tokens in found])


def salt(prompt: Any) -> str:
    """What keeps a prompt's blocks apart from those of others."""
    return prompt.get("cache_salt", "") if isinstance(prompt, Mapping) else ""


def stop_ids(llm: LLM, params: BeamSearchParams) -> frozenset[int]:
    """Ids that end a sequence.

    Raises:
        ParameterError: one is outside of the vocabulary.
    """
    model, tokenizer = llm.config.model, llm.get_tokenizer()
    if max(params.stop_token_ids, default=0) >= model.vocab_size:
        raise ParameterError("stop_token_ids", f"an id is outside of the vocabulary of {model.vocab_size} tokens")
    if params.ignore_eos:
        return frozenset(params.stop_token_ids)
    if tokenizer is not None:
        return frozenset(params.stop_token_ids) | tokenizer.eos_token_ids
    eos = model.hf_config.get("eos_token_id")
    return frozenset(params.stop_token_ids) | frozenset([eos] if isinstance(eos, int) else eos or ())


def output(llm: LLM, one: Running) -> BeamSearchOutput:
    """The sequences of a search that is done."""
    tokenizer = llm.get_tokenizer()
    result = BeamSearchOutput(prompt_token_ids=one.prompt["prompt_token_ids"])
    for entry in one.search.finished:
        tokens = list(entry.beam.token_ids)
        shown = tokens[:-1] if entry.stopped else tokens
        result.sequences.append(
            BeamSequence(
                token_ids=tokens,
                text="" if tokenizer is None else tokenizer.decode(shown),
                cumulative_logprob=entry.beam.logprob,
                score=entry.score,
                finish_reason="stop" if entry.stopped else "length",
            )
        )
    return result
