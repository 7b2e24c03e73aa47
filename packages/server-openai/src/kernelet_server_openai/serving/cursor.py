"""What a choice has gained since it was last looked at."""

from __future__ import annotations

from dataclasses import dataclass, field

from kernelet.request.outputs import CompletionOutput, Logprob


@dataclass(frozen=True, slots=True)
class Delta:
    """New text and tokens.

    Attributes:
        finished: The choice has ended, and nobody was told yet.
    """

    text: str
    token_ids: list[int] = field(default_factory=list)
    logprobs: list[dict[int, Logprob]] = field(default_factory=list)
    finished: bool = False

    def shows(self, *, tokens: bool) -> bool:
        """Whether a client sees anything of it.

        Args:
            tokens: Tokens are seen too, not their text alone.
        """
        return bool(self.text) or self.finished or (tokens and bool(self.token_ids))


class Cursor:
    """How far a choice has been told."""

    def __init__(self) -> None:
        self._text = 0
        self._tokens = 0
        self._finished = False

    def advance(self, choice: CompletionOutput) -> Delta:
        """What is new."""
        logprobs = choice.logprobs
        delta = Delta(
            choice.text[self._text :],
            choice.token_ids[self._tokens :],
            [] if logprobs is None else logprobs[self._tokens :],
            choice.finish_reason is not None and not self._finished,
        )
        self._text = len(choice.text)
        self._tokens = len(choice.token_ids)
        self._finished = choice.finish_reason is not None
        return delta
