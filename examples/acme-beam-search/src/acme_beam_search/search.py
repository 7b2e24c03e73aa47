"""The search itself: which sequences are followed and which are done. It knows no engine.

The rules are those of ``transformers``' ``generate(num_beams=..., do_sample=False)``, so the sequences are too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from acme_beam_search.params import BeamSearchParams


@dataclass(frozen=True)
class Beam:
    """A sequence on its way.

    Attributes:
        token_ids: What was generated.
        logprob: Sum of its tokens' log-probabilities.
    """

    token_ids: tuple[int, ...] = ()
    logprob: float = 0.0


@dataclass(frozen=True)
class Finished:
    """A sequence that ended, by a token of ``stops`` or its length."""

    beam: Beam
    score: float
    stopped: bool


@dataclass
class Search:
    """One prompt's search.

    Attributes:
        stops: Ids that end a sequence.
        beams: What is followed, best first.
        finished: The best that ended, best first.
        done: Nothing better can come, or the length is reached.
    """

    params: BeamSearchParams
    stops: frozenset[int]
    beams: list[Beam] = field(default_factory=lambda: [Beam()])
    finished: list[Finished] = field(default_factory=list)
    done: bool = False

    @property
    def num_candidates(self) -> int:
        """Continuations that a step looks at, and that it needs of each beam: if the best all end, enough are left."""
        return max(2, 1 + len(self.stops)) * self.params.beam_width

    def advance(self, continuations: Sequence[Mapping[int, float]]) -> None:
        """Takes one step.

        Args:
            continuations: For each beam the log-probabilities of its ``num_candidates`` best next tokens (or more).
        """
        width, length = self.params.beam_width, len(self.beams[0].token_ids) + 1
        grown = [
            Beam((*beam.token_ids, token), beam.logprob + logprob)
            for beam, tokens in zip(self.beams, continuations, strict=True)
            for token, logprob in tokens.items()
        ]
        grown.sort(key=lambda beam: beam.logprob, reverse=True)
        candidates = grown[: self.num_candidates]
        last = length == self.params.max_tokens
        ended = [last or beam.token_ids[-1] in self.stops for beam in candidates]
        self._finish(beam for beam, over in zip(candidates[:width], ended, strict=False) if over)
        self.beams = [beam for beam, over in zip(candidates, ended, strict=True) if not over][:width]
        self.done = not self.beams or self._hopeless(length)

    def _finish(self, beams: Iterable[Beam]) -> None:
        """Keeps the best; of a step only those count that are among its ``beam_width`` best candidates."""
        for beam in beams:
            score = self._score(beam, len(beam.token_ids))
            self.finished.append(Finished(beam, score, beam.token_ids[-1] in self.stops))
        self.finished.sort(key=lambda entry: entry.score, reverse=True)
        del self.finished[self.params.beam_width :]

    def _hopeless(self, length: int) -> bool:
        params = self.params
        if len(self.finished) < params.beam_width:
            return False
        if params.early_stopping is True:
            return True
        if params.early_stopping == "never" and params.length_penalty > 0:
            length = params.max_tokens
        return self._score(self.beams[0], length) <= self.finished[-1].score

    def _score(self, beam: Beam, length: int) -> float:
        return beam.logprob / math.pow(length, self.params.length_penalty)
