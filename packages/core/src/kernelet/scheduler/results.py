"""What the result of one request in one step changes."""

from __future__ import annotations

from typing import NamedTuple

from kernelet.contracts.executor import SampledRequest, ScheduledRequest
from kernelet.contracts.sampling import TokenLogprobs
from kernelet.errors import FailedParameterError, RequestFailedError
from kernelet.request.outputs import EngineOutput
from kernelet.request.request import Request
from kernelet.scheduler.finish import Ending, ending
from kernelet.scheduler.progress import prompt_logprobs_missing
from kernelet.scheduler.structured import REFUSED, OnlyToken, held, jump, state_of


class Progress(NamedTuple):
    """What a step brought.

    Attributes:
        output: For the frontend.
        ending: Why the request ends now, if it does.
        num_stored: Tokens that are known and computed, so that full blocks of them may be shared.
        num_forced: Tokens of the output that nobody sampled.
    """

    output: EngineOutput
    ending: Ending | None
    num_stored: int
    num_forced: int = 0

    @property
    def worth_telling(self) -> bool:
        """Whether the output says anything."""
        return bool(self.output.token_ids or self.output.prompt_logprobs or self.output.finish_reason)


def apply_result(
    request: Request,
    entry: ScheduledRequest,
    result: SampledRequest | None,
    max_model_len: int,
    only: OnlyToken | None = None,
) -> Progress:
    """Appends what was sampled, and what must come behind it.

    Args:
        request: Running, in the epoch of ``entry``.
        entry: What was scheduled.
        result: What the worker returned for it.
        max_model_len: Largest number of tokens of a request.
        only: Finds tokens that must come; None: each is sampled.

    Raises:
        RequestFailedError: the worker failed this request, or returned something else than was scheduled, or than the
            request's constraint allows.
        FailedParameterError: the worker failed it by one of its fields.
    """
    if result is None:
        raise RequestFailedError("the worker returned no result for this request")
    if result.error is not None:
        if result.error_parameter is not None:
            raise FailedParameterError(result.error_parameter, result.error)
        raise RequestFailedError(result.error)
    if result.epoch != entry.epoch or len(result.token_ids) != int(entry.sample):
        raise RequestFailedError(
            f"the worker returned {len(result.token_ids)} tokens of epoch {result.epoch}, "
            f"not {int(entry.sample)} of epoch {entry.epoch}"
        )
    prompt_logprobs = _prompt_logprobs(request, entry, result)
    num_done = entry.num_computed_tokens + entry.num_tokens
    tokens = _fresh(request, entry, result.token_ids)
    end, forced = ending(request, num_done, max_model_len), list[int]()
    if request.grammar is not None and tokens:
        end = held(request, request.grammar, tokens[-1], end)
        if end is None and only is not None:
            forced, end = jump(request, only, num_done, max_model_len)
    elif request.grammar is not None and end is not None:
        request.structured = state_of(request.grammar)
    if end is not None and request.data.pooling is not None and result.pooled is None:
        raise RequestFailedError("the worker returned no pooled states: the platform's worker knows no pooling")
    output = EngineOutput(
        request_id=request.request_id,
        token_ids=[*tokens, *forced],
        logprobs=result.logprobs if tokens else None,
        prompt_logprobs=prompt_logprobs,
        finish_reason=None if end is None else end.reason.value,
        stop_token_id=None if end is None else end.stop_token_id,
        num_cached_tokens=request.num_cached_tokens,
        pooled=result.pooled,
        structured=request.structured,
    )
    return Progress(output, end, min(num_done, request.num_tokens), len(forced))


def foretold(request: Request, entry: ScheduledRequest) -> int | None:
    """The token that a step samples, where it is known already; None: it is not, or the step samples none."""
    place = entry.num_computed_tokens + entry.num_tokens
    return request.token_ids[place] if entry.sample and place < request.num_tokens else None


def _fresh(request: Request, entry: ScheduledRequest, token_ids: list[int]) -> list[int]:
    """Appends what the request does not have yet, and returns it."""
    known = foretold(request, entry)
    if known is None:
        request.num_placeholders -= entry.sample
        request.token_ids.extend(token_ids)
        return list(token_ids)
    if token_ids != [known]:
        raise RequestFailedError(REFUSED)
    return []


def _prompt_logprobs(request: Request, entry: ScheduledRequest, result: SampledRequest) -> list[TokenLogprobs] | None:
    """The entries that the frontend does not have yet: after a preemption the first ones come a second time."""
    if not prompt_logprobs_missing(request):
        return None
    start = entry.num_computed_tokens
    expected = min(start + entry.num_tokens, request.num_prompt_tokens - 1) - start
    if expected <= 0:
        return None
    got = result.prompt_logprobs or []
    if len(got) != expected:
        raise RequestFailedError(f"the worker returned {len(got)} prompt log-probabilities instead of {expected}")
    fresh = got[request.num_prompt_logprobs - start :]
    request.num_prompt_logprobs += len(fresh)
    return fresh
