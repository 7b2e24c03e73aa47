"""Random requests for one engine, whose tokens must be the same however they are scheduled.

A scenario is a function of a few small numbers, so that a failing one shrinks to few requests and small limits.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
from hypothesis import strategies as st

from kernelet.contracts.sampling import SamplerParams, TokenLogprobs
from kernelet.contracts.stats import FinishedRequest, StepStats
from kernelet.engine.core import EngineCore
from kernelet.request.outputs import EngineOutput
from kernelet.request.request import EngineRequest


@dataclass(frozen=True)
class Arrival:
    """A request, the step before which it comes, and the number of its tokens after which it is aborted, if it is."""

    request: EngineRequest
    step: int
    abort_after: int | None = None


@dataclass(frozen=True, kw_only=True)
class Shape:
    """What requests look like.

    Attributes:
        vocab_size: Token ids are below this.
        max_prompt: Tokens of a prompt, the shared part included.
        max_output: Tokens to generate.
        max_shared: Tokens that prompts of one family have in common.
        stop_token_ids: Ids that end a request, for half of them.
        seeded: Half of the requests sample with a seed of their own; else all are greedy.
        aborts: A tenth of the requests is aborted on the way.
        prompt_logprobs: A tenth of the requests asks for them.
        pooling: A fifth of the requests is pooled instead of generating.
    """

    vocab_size: int
    max_prompt: int = 120
    max_output: int = 40
    max_shared: int = 60
    stop_token_ids: tuple[int, ...] = ()
    seeded: bool = True
    aborts: bool = True
    prompt_logprobs: bool = True
    pooling: bool = False


def make_arrivals(shape: Shape, seed: int, count: int, spread: int) -> list[Arrival]:
    """``count`` requests that come within ``spread`` steps. The first n of a longer list are the list of length n."""
    generator = random.Random(seed)
    families = [_tokens(generator, shape.vocab_size, generator.randint(0, shape.max_shared)) for _ in range(4)]
    return [_arrival(shape, random.Random(f"{seed}/{index}"), index, spread, families) for index in range(count)]


def _tokens(generator: random.Random, vocab_size: int, count: int) -> list[int]:
    return [generator.randrange(vocab_size) for _ in range(count)]


def _arrival(shape: Shape, generator: random.Random, index: int, spread: int, families: Sequence[list[int]]) -> Arrival:
    shared = generator.choice(families) if generator.random() < 0.7 else []
    own = _tokens(generator, shape.vocab_size, generator.randint(1, shape.max_prompt - len(shared)))
    if shared and generator.random() < 0.2:
        own = own[:1]  # differs in its last token only
    seeded = shape.seeded and generator.random() < 0.5
    wants_prompt = shape.prompt_logprobs and generator.random() < 0.1
    max_tokens = 0 if generator.random() < 0.05 else generator.randint(1, shape.max_output)
    params = SamplerParams(
        seed=generator.getrandbits(63),
        temperature=0.8 if seeded else 0.0,
        min_tokens=generator.choice([0, 0, 3]),
        suppressed_token_ids=shape.stop_token_ids,
        logprobs=generator.choice([None, None, 2]),
        prompt_logprobs=1 if wants_prompt else None,
    )
    arrival = Arrival(
        request=EngineRequest(
            request_id=f"r{index}",
            prompt_token_ids=shared + own,
            params=params,
            max_tokens=max_tokens,
            stop_token_ids=shape.stop_token_ids if generator.random() < 0.5 else (),
            priority=generator.randint(0, 3),
            arrival_time=float(index),
            cache_salt=generator.choice(["", "", "", "salt"]),
        ),
        step=generator.randint(0, spread) if spread else 0,
        abort_after=generator.randint(0, max_tokens) if shape.aborts and generator.random() < 0.1 else None,
    )
    return _pooled(arrival, generator) if shape.pooling and generator.random() < 0.2 else arrival


def _pooled(arrival: Arrival, generator: random.Random) -> Arrival:
    """The same prompt, for its states."""
    request = msgspec.structs.replace(
        arrival.request,
        params=SamplerParams(seed=0),
        max_tokens=0,
        stop_token_ids=(),
        pooling=generator.choice(["last", "mean"]),
    )
    return Arrival(request, arrival.step, None if arrival.abort_after is None else 0)


def arrivals(shape: Shape, max_count: int = 200) -> st.SearchStrategy[list[Arrival]]:
    """Strategy over ``make_arrivals``; shrinks to few requests that come at once."""
    return st.builds(
        make_arrivals, st.just(shape), st.integers(0, 2**32), st.integers(1, max_count), st.sampled_from([0, 5, 60])
    )


@dataclass
class Outcome:
    """All that came out of one request."""

    token_ids: list[int] = field(default_factory=list)
    logprobs: list[TokenLogprobs] = field(default_factory=list)
    prompt_logprobs: list[TokenLogprobs] = field(default_factory=list)
    finish_reason: str | None = None
    error: str | None = None
    pooled: bytes | None = None

    def add(self, output: EngineOutput) -> None:
        """Takes up one output.

        Raises:
            AssertionError: the request had ended.
        """
        assert self.finish_reason is None, f"{output.request_id} has an output after its end"
        self.token_ids += output.token_ids
        self.logprobs += output.logprobs or []
        self.prompt_logprobs += output.prompt_logprobs or []
        self.finish_reason, self.error = output.finish_reason, output.error
        self.pooled = output.pooled


@dataclass
class Run:
    """What a scenario left behind."""

    outcomes: dict[str, Outcome]
    steps: list[StepStats]
    finished: list[FinishedRequest]

    def total(self, name: str) -> int:
        """Sum of a counter over all steps."""
        return int(sum(getattr(step, name) for step in self.steps))

    @property
    def mixed_batches(self) -> int:
        """Steps that computed prompts and decoded."""
        return sum(step.num_prefill_requests > 0 and step.num_decode_requests > 0 for step in self.steps)


def run(core: EngineCore, scenario: Sequence[Arrival], check_every: int = 1, max_steps: int = 100_000) -> Run:
    """Plays a scenario to its end and checks that nothing is left.

    Args:
        core: Fresh.
        scenario: What comes when.
        check_every: Steps between two checks of the cache.
        max_steps: More steps count as a hang.

    Raises:
        AssertionError: blocks were lost, a request did not end, or a record is missing.
    """
    waiting = sorted(scenario, key=lambda arrival: arrival.step)
    outcomes = {arrival.request.request_id: Outcome() for arrival in scenario}
    limits = {arrival.request.request_id: arrival.abort_after for arrival in scenario}
    step = 0
    while waiting or core.has_unfinished():
        assert step < max_steps, "the engine hangs"
        while waiting and waiting[0].step <= step:
            core.add_request(waiting.pop(0).request)
        _abort(core, outcomes, limits)
        for output in core.step() if core.has_unfinished() else ():
            outcomes[output.request_id].add(output)
        if step % check_every == 0:
            core.cache.check()
        step += 1
    core.cache.check()
    for index, pool in enumerate(core.cache.pools):
        assert pool.num_free == pool.num_blocks - 1, f"group {index} lost {pool.num_blocks - 1 - pool.num_free} blocks"
    finished = core.take_finished()
    assert sorted(record.request_id for record in finished) == sorted(outcomes), "not one record a request"
    assert all(outcome.finish_reason for outcome in outcomes.values()), "a request did not end"
    return Run(outcomes, core.take_step_stats(), finished)


def _abort(core: EngineCore, outcomes: Mapping[str, Outcome], limits: Mapping[str, int | None]) -> None:
    due = [
        request_id
        for request_id, outcome in outcomes.items()
        if outcome.finish_reason is None
        and (limit := limits[request_id]) is not None
        and len(outcome.token_ids) >= limit
    ]
    for output in core.abort(due):
        outcomes[output.request_id].add(output)


def compare(
    scenario: Sequence[Arrival],
    got: Run,
    truth: Callable[[EngineRequest], list[int]],
    pooled: Callable[[EngineRequest], bytes] | None = None,
) -> None:
    """Every request's tokens are those that it has alone.

    Args:
        scenario: What was played.
        got: What came out.
        truth: The tokens of a request, up to and including its stop token or ``max_tokens``.
        pooled: The bytes of a request that is pooled; None: the shape has none.

    Raises:
        AssertionError: naming the request and the first difference.
    """
    for arrival in scenario:
        request, outcome = arrival.request, got.outcomes[arrival.request.request_id]
        expected = truth(request)
        assert outcome.error is None, f"{request.request_id}: {outcome.error}"
        tokens = outcome.token_ids
        if outcome.finish_reason == "abort":
            assert arrival.abort_after is not None, f"{request.request_id} was aborted by nobody"
            assert tokens == expected[: len(tokens)], f"{request.request_id}: {tokens} is no beginning of {expected}"
            continue
        if request.pooling is not None:
            assert pooled is not None, f"{request.request_id} is pooled, and nobody knows the truth"
            assert outcome.pooled == pooled(request), f"{request.request_id}: other states were pooled"
            assert outcome.finish_reason == "stop", f"{request.request_id} ended otherwise"
            continue
        assert tokens == expected, f"{request.request_id}: {tokens} instead of {expected}"
        stopped = bool(tokens) and tokens[-1] in request.stop_token_ids and len(tokens) > request.params.min_tokens
        assert outcome.finish_reason == ("stop" if stopped else "length"), f"{request.request_id} ended otherwise"
        if request.params.logprobs is not None:
            assert [entry.token_ids[0] for entry in outcome.logprobs] == tokens, f"{request.request_id}: logprobs"
        if request.params.prompt_logprobs is not None:
            positions = [entry.token_ids[0] for entry in outcome.prompt_logprobs]
            assert positions == request.prompt_token_ids[1:], f"{request.request_id}: prompt_logprobs"
