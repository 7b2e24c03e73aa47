"""When the requests of a step got their tokens."""

from __future__ import annotations

from kernelet.request.request import Request


class TokenTimes:
    """Collects what one step brought, for ``StepStats``.

    Attributes:
        num_tokens: Tokens that came.
        num_forced: Those of them that nobody sampled.
        num_prompt_tokens: Prompt tokens of requests whose prompt is done.
        first: Seconds from arrival to first token, of each request that got its first.
        between: Seconds since its last token, of each request that got a further one.
    """

    def __init__(self, now: float) -> None:
        self._now = now
        self.num_tokens = 0
        self.num_forced = 0
        self.num_prompt_tokens = 0
        self.first: list[float] = []
        self.between: list[float] = []

    def note(self, request: Request, num_tokens: int, *, ended: bool, num_forced: int = 0) -> None:
        """A request got tokens, or ended, or both."""
        last = request.last_token_time
        if last is None and (num_tokens or ended):
            self.num_prompt_tokens += request.num_prompt_tokens
        if not num_tokens:
            return
        self.num_tokens += num_tokens
        self.num_forced += num_forced
        if last is None:
            request.first_token_time = self._now
            self.first.append(self._now - request.arrival_time)
        else:
            self.between.append(self._now - last)
        request.last_token_time = self._now
