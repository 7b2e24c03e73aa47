"""Requests that one processor works for, played as the engine does, and held to the contract at every call."""

from __future__ import annotations

import copy
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from kernelet.contracts.sampling import LogitsProcessor, LogitsRow
from kernelet.sampling.rows import first_maximum
from kernelet.testing.verdict import check

INFINITY = float("inf")


@dataclass
class Playing:
    """A request.

    Attributes:
        name: Its id.
        arguments: ``extra_args`` of the processor's plugin.
        seed: Of the logits that its model makes.
    """

    name: str
    arguments: Mapping[str, Any]
    seed: int
    prompt: list[int]
    outputs: list[int] = field(default_factory=list)

    def logits(self, vocab_size: int, dtype: torch.dtype) -> Tensor:
        """What the model says at the next position: a function of the request and the position. [vocab_size]."""
        generator = torch.Generator().manual_seed(self.seed * 7919 + len(self.outputs))
        return 3 * torch.randn(vocab_size, generator=generator, dtype=dtype)

    def row(self, index: int) -> LogitsRow:
        """Its row of a batch."""
        return LogitsRow(index=index, request_id=self.name, prompt_token_ids=self.prompt, output_token_ids=self.outputs)


def playing(name: str, arguments: Mapping[str, Any], seed: int, vocab_size: int) -> Playing:
    """A request with a prompt of its own."""
    generator = random.Random(seed)
    prompt = [generator.randrange(vocab_size) for _ in range(generator.randint(1, 9))]
    return Playing(name=name, arguments=arguments, seed=seed, prompt=prompt)


def add(processor: LogitsProcessor, request: Playing) -> bool:
    """The request starts or resumes; whether the processor works for it.

    Raises:
        ConformanceError: it answered something else, or changed what it was given.
    """
    arguments, prompt = copy.deepcopy(dict(request.arguments)), list(request.prompt)
    works: object = processor.add_request(request.name, arguments, prompt)
    check(isinstance(works, bool), "add_request() must return whether there is work for the request: True or False")
    check(
        repr(arguments) == repr(dict(request.arguments)) and prompt == request.prompt,
        "add_request() must not change the arguments or the prompt that it is given",
    )
    return bool(works)


def apply(processor: LogitsProcessor, logits: Tensor, rows: Sequence[LogitsRow]) -> Tensor:
    """Calls ``apply`` and returns its result.

    Raises:
        ConformanceError: it broke its contract.
    """
    before = logits.clone()
    tokens = [(list(row.prompt_token_ids), list(row.output_token_ids)) for row in rows]
    result = processor.apply(logits, rows)
    check(isinstance(result, Tensor), "apply() must return the logits, changed in place or not")
    check(
        (result.shape, result.dtype, result.device) == (before.shape, before.dtype, before.device),
        "apply() must keep the shape, dtype and device of the logits",
    )
    named = sorted({row.index for row in rows})
    others = [index for index in range(len(before)) if index not in named]
    check(torch.equal(result[others], before[others]), "apply() must change the named rows only")
    check(not result.isnan().any(), "apply() must never make NaN: minus infinity is a forbidden token, and stays it")
    check(not (result == INFINITY).any(), "apply() must never make an infinite logit: forbid the others instead")
    could = (before[named] > -INFINITY).sum(-1) > before.shape[-1] // 2
    can = (result[named] > -INFINITY).any(-1)
    check(bool((can | ~could).all()), "apply() must leave a token that may be chosen")
    check(
        tokens == [(list(row.prompt_token_ids), list(row.output_token_ids)) for row in rows],
        "apply() must not change the tokens of a row: they are the engine's own lists",
    )
    return result


def choose(row: Tensor) -> int:
    """The best token, as the sampler finds it. ``row`` is [vocab_size]."""
    return first_maximum(row[None])[0]
