"""What the sampler keeps of one request."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from kernelet.contracts.sampling import SamplerParams
from kernelet.sampling.history import TokenCounts
from kernelet.sampling.penalties import has_penalties
from kernelet.sampling.restrictions import Restrictions


class SamplingState:
    """One request's parameters and history.

    Attributes:
        params: Its parameters.
        prompt: Its prompt.
        generated: Tokens generated so far, also those before a preemption.
        counts: Tokens seen; None where no penalty needs them.
        restrictions: What the parameters allow.
        plain: Neither penalties, restrictions nor custom processors ever change its rows.

    Raises:
        ValueError: if a parameter holds a token id outside the vocabulary.
    """

    def __init__(
        self,
        params: SamplerParams,
        prompt: Sequence[int],
        generated: Sequence[int],
        vocab_size: int,
        device: torch.device,
    ) -> None:
        self.params = params
        self.prompt = prompt
        self.generated = list(generated)
        self.counts: TokenCounts | None = None
        if has_penalties(params):
            seen = prompt if params.repetition_penalty != 1.0 else ()
            self.counts = TokenCounts(seen, self.generated)
        self.restrictions = Restrictions(params, vocab_size, device)
        self.plain = self.counts is None and not self.restrictions.ever_active

    @property
    def position(self) -> int:
        """Index of the token that is sampled next."""
        return len(self.prompt) + len(self.generated)

    def append(self, token: int) -> None:
        """A token was generated."""
        self.generated.append(token)
        if self.counts is not None:
            self.counts.add(token)
