"""A platform's worker, by hand and in an engine."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from kernelet.contracts.executor import EnginePlan, SamplePlan, Sleep
from kernelet.contracts.platform import PlatformConfig, PlatformOffer
from kernelet.engine.bootstrap import Configured, start_core
from kernelet.engine.core import EngineCore
from kernelet.request.request import EngineRequest
from kernelet.testing.offered import Offered
from kernelet.testing.platform.base import Configure, PlatformBase
from kernelet.testing.platform.steps import WorkerRun
from kernelet.testing.scenarios import Arrival, Run, Shape, compare, make_arrivals, run
from kernelet.testing.verdict import ConformanceError, check


@dataclass(frozen=True)
class Limits:
    """What an engine may do at once.

    Attributes:
        pool: Requests of the largest length that the cache holds.
    """

    name: str
    seqs: int
    chunk: int
    pool: float
    caching: bool


CONTEXT = 176
BLOCK = 16
Start = Callable[..., WorkerRun]
FEATURE = "graphs"
SIZES = {"max_model_len": CONTEXT, "block_size": BLOCK, "num_blocks": 40, "max_num_seqs": 8}
LIMITS = (
    Limits("batched", seqs=64, chunk=2048, pool=64.0, caching=True),
    Limits("chunked", seqs=7, chunk=16, pool=8.0, caching=True),
    Limits("preempted", seqs=16, chunk=100, pool=1.5, caching=False),
)
SAME = "a request must have the same tokens alone, batched, in chunks and after a preemption"


class WorkerTests(PlatformBase):
    """Tests of an engine's work on the platform."""

    @pytest.fixture
    def start(self, configure: Configure) -> Iterator[Start]:
        """Makes workers that are shut down at the end."""
        started: list[WorkerRun] = []

        def start(**options: Any) -> WorkerRun:
            started.append(WorkerRun(in_depth(configure(**SIZES, **options))))
            return started[-1]

        yield start
        for one in started:
            one.close()

    @pytest.fixture
    def vocab_size(self, checkpoint: Path) -> int:
        """Of the model."""
        return int(json.loads((checkpoint / "config.json").read_text(encoding="utf-8"))["vocab_size"])

    @pytest.fixture
    def prompts(self, vocab_size: int) -> tuple[list[int], list[int]]:
        """Token ids, one prompt shorter than a block and one longer."""
        generator = random.Random(3)
        short, long = ([generator.randrange(vocab_size) for _ in range(length)] for length in (7, BLOCK + 5))
        return short, long

    def test_plan(self, start: Start, offered: Offered[PlatformOffer], configure: Configure) -> None:
        plan = start().plan
        config = configure(**SIZES).config
        check(isinstance(plan, EnginePlan), "get_plan() must return an EnginePlan")
        check(plan.platform == offered.offer.name, "`platform` of get_plan() must be the offer's name")
        check(
            (plan.dtype, plan.max_model_len) == (config.model.dtype, config.model.max_model_len),
            "get_plan() must state the dtype and the context of the configuration",
        )
        check(plan.layers, "get_plan() must say of every layer how it is computed")
        check(
            start().plan == plan,
            "get_plan() must be the same on every rank and at every start: its digest is the engine's identity",
        )

    def test_steps(self, start: Start, prompts: tuple[list[int], list[int]]) -> None:
        alone = generate(start(), prompts[:1], steps=4)["r0"]
        together = generate(start(), prompts, steps=4)
        check(together["r0"] == alone, "a request's tokens must not depend on the others of its step")
        chunked = start()
        chunked.add("r1", prompts[1])
        chunked.run(r1=5)
        chunked.run(r1=9)
        for _ in range(4):
            chunked.run(r1=0)
        check(
            chunked.output("r1") == together["r1"],
            "a prompt that is computed in several steps must give the tokens that it gives in one",
        )

    def test_steps_in_flight(self, start: Start, prompts: tuple[list[int], list[int]]) -> None:
        expected = generate(start(), prompts, steps=3)
        worker = start()
        for index, prompt in enumerate(prompts):
            worker.add(f"r{index}", prompt)
        plans = [worker.execute(r0=0, r1=0), worker.execute(r0=1, r1=1)]
        worker.sample(plans[0])
        plans.append(worker.execute(r0=1, r1=1))
        for plan in plans[1:]:
            worker.sample(plan)
        check(
            {name: worker.output(name) for name in expected} == expected,
            "a step that starts before the one before is sampled must fill in the token by itself",
        )

    def test_requests_come_and_go(self, start: Start, prompts: tuple[list[int], list[int]]) -> None:
        worker = start()
        first = generate(worker, prompts, steps=2)
        worker.sample(worker.finish())
        again = generate(worker, prompts, steps=2)
        check(again == first, "a request must leave nothing behind that the next one of its name sees")

    def test_recorded_steps(
        self, start: Start, prompts: tuple[list[int], list[int]], config_half: PlatformConfig
    ) -> None:
        if FEATURE not in config_half.capabilities().features:
            pytest.skip("the platform records no steps")
        recorded, launched = start(), start(enforce_eager=True)
        check(
            any(layer.role == "graph" for layer in recorded.plan.layers),
            "get_plan() of a platform with graphs must say whether decode steps are recorded, and why not",
        )
        for some in (prompts, prompts[1:], (*prompts, prompts[0][::-1])):
            check(
                generate(recorded, some, steps=5) == generate(launched, some, steps=5),
                "steps that are replayed must give the tokens of those that are launched",
            )
            for driven in (recorded, launched):
                driven.sample(driven.finish())

    @pytest.mark.parametrize("level", [1, 2])
    def test_sleep(self, start: Start, prompts: tuple[list[int], list[int]], level: int) -> None:
        driven = start()
        worker = driven.worker
        if not isinstance(worker, Sleep):
            pytest.skip("the worker does not sleep")
        expected = generate(driven, prompts, steps=3)
        driven.sample(driven.finish())
        worker.sleep(level)
        worker.wake_up()
        check(
            generate(driven, prompts, steps=3) == expected,
            "wake_up() must take back what sleep() gave up: weights as they were, at both levels",
        )

    def test_another_step_cannot_be_sampled(self, start: Start, prompts: tuple[list[int], list[int]]) -> None:
        worker = start()
        worker.add("r0", prompts[0])
        plan = worker.execute(r0=0)
        try:
            worker.worker.sample(SamplePlan(step=plan.step + 1))
        except Exception:  # noqa: BLE001 - which one is the worker's choice
            return
        raise ConformanceError("sample() of a step that is not the oldest in flight must raise an error")

    def test_two_workers_share_nothing(self, start: Start, prompts: tuple[list[int], list[int]]) -> None:
        expected = generate(start(), prompts, steps=3)
        one, other = start(), start()
        for index, prompt in enumerate(prompts):
            one.add(f"r{index}", prompt)
            other.add(f"r{index}", prompt[::-1])
        for count in (0, 1, 1):
            for worker in (one, other):
                worker.run(r0=count, r1=count)
        check(
            {name: one.output(name) for name in expected} == expected,
            "two workers in one process must share nothing: one changed the other's tokens",
        )

    def test_same_tokens(self, configure: Configure, vocab_size: int) -> None:
        if not self.capabilities.dtype:
            pytest.skip("the platform promises it in no dtype")
        shape = Shape(vocab_size=vocab_size, max_prompt=70, max_shared=50, max_output=60, stop_token_ids=(3, 4))
        scenario = make_arrivals(shape, seed=23, count=18, spread=6)
        with engine(configure, Limits("alone", seqs=1, chunk=2048, pool=1.0, caching=False)) as core:
            truth = {one.request.request_id: alone(core, one.request) for one in scenario}
        seen = {}
        for limits in LIMITS:
            with engine(configure, limits) as core:
                seen[limits.name] = play(core, scenario, truth)
        assert seen["batched"].mixed_batches > 5, "the scenario must mix prompts and decoding"
        assert seen["batched"].total("prefix_hits") > 0, "the scenario must reuse prefixes"
        assert seen["chunked"].total("num_chunked") > 5, "the scenario must cut prompts"
        assert seen["preempted"].total("num_preempted") > 0, "the scenario must preempt"


def in_depth(configured: Configured) -> Configured:
    """The same with two steps in flight."""
    config = configured.config
    return replace(configured, config=replace(config, scheduler=replace(config.scheduler, depth=2)))


def generate(worker: WorkerRun, prompts: tuple[list[int], ...], steps: int) -> dict[str, list[int]]:
    """Computes prompts whole and together, then a token a step; returns their tokens."""
    names = [f"r{index}" for index in range(len(prompts))]
    for name, prompt in zip(names, prompts, strict=True):
        worker.add(name, prompt)
    for _ in range(steps):
        worker.run(**dict.fromkeys(names, 0))
    return {name: worker.output(name) for name in names}


@contextmanager
def engine(configure: Configure, limits: Limits) -> Iterator[EngineCore]:
    """An engine, which is closed at the end."""
    configured = configure(
        max_model_len=CONTEXT,
        block_size=BLOCK,
        num_blocks=1 + int(limits.pool * CONTEXT / BLOCK),
        max_num_seqs=limits.seqs,
        max_num_batched_tokens=limits.chunk,
        enable_prefix_caching=limits.caching,
    )
    running = start_core(configured)
    try:
        assert isinstance(running.core, EngineCore)
        yield running.core
    finally:
        running.close()


def alone(core: EngineCore, request: EngineRequest) -> list[int]:
    """Tokens of a request that nothing runs beside."""
    return run(core, [Arrival(request, 0)], check_every=1000).outcomes[request.request_id].token_ids


def play(core: EngineCore, scenario: list[Arrival], truth: dict[str, list[int]]) -> Run:
    """Plays a scenario and compares.

    Raises:
        ConformanceError: a request has other tokens than alone, or failed.
    """
    got = run(core, scenario, check_every=20)
    try:
        compare(scenario, got, lambda request: truth[request.request_id])
    except AssertionError as error:
        raise ConformanceError(f"{SAME}, but {error}") from error
    return got
