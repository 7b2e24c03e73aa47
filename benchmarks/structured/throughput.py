"""What structured requests cost those beside them, on the demo model.

1. Loss: 16 structured and 16 free requests in one batch, against 32 free ones; every answer is as long.
2. First token: a request whose schema is known already, against a free one, alone.
3. Compilation: free answers are streamed while a request's constraint takes seconds to compile, and without it.

Rounds of both kinds take turns, and the best of them count, since machines are busy.

python benchmarks/structured/throughput.py [--model smollm2-135m] [--engine xgrammar] [--slow outlines] [--threads 1]
                                           [--dtype bfloat16] [--tokens 64] [--rounds 5] [--only loss first compile]
                                           [--json]
"""

from __future__ import annotations

import asyncio
import itertools
import statistics
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from cases import CASES, record
from command import engine_options, parser_of, show

from kernelet import LLM, SamplingParams
from kernelet.contracts.sampling import StructuredOutputsParams
from kernelet.engine.async_llm import AsyncLLM

HALF = 16
PROMPT = "The staff of the harbour office, as JSON:"
LONG = {
    "type": "array",
    "items": record(name={"type": "string"}, age={"type": "integer"}, role={"enum": ["pilot", "clerk", "captain"]}),
}
STREAMS = 4
"""Answers that are streamed while a constraint is compiled."""

SLOW = "([0-9]{900}-){0,5}[0-9]"
"""A regular expression of which an index has 4500 states."""


def free(tokens: int) -> SamplingParams:
    return SamplingParams(temperature=0, max_tokens=tokens, ignore_eos=True)


def held(tokens: int, engine: str, **constraint: Any) -> SamplingParams:
    return SamplingParams(
        temperature=0,
        max_tokens=tokens,
        ignore_eos=True,
        structured_outputs=StructuredOutputsParams(backend=engine, **constraint),
    )


def tokens_a_second(llm: LLM, params: Sequence[SamplingParams]) -> tuple[float, float]:
    """Of the clock, and of processors."""
    started, used = time.perf_counter(), time.process_time()
    outputs = llm.generate([f"{number}. {PROMPT}" for number in range(len(params))], list(params), use_tqdm=False)
    seconds, processors = time.perf_counter() - started, time.process_time() - used
    written = sum(len(output.outputs[0].token_ids) for output in outputs)
    assert written == sum(one.max_tokens or 0 for one in params), "every answer is as long"
    return written / seconds, written / processors


def loss(llm: LLM, engine: str, tokens: int, rounds: int) -> dict[str, float]:
    """Tokens a second, and by how many per cent a batch that is half structured writes fewer: whatever else the machine
    does, a second of its processors is one.
    """
    # An item takes more than eight tokens: the array is not at its end.
    structured = held(tokens, engine, json=LONG | {"minItems": 1 + tokens // 8})
    kinds = {"free": [free(tokens)] * 2 * HALF, "half structured": [structured, free(tokens)] * HALF}
    tokens_a_second(llm, kinds["half structured"])
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in kinds}
    for _ in range(rounds):
        for name, params in kinds.items():
            found[name].append(tokens_a_second(llm, params))
    result: dict[str, float] = {}
    for place, of in enumerate(("", " of processors")):
        best = {name: max(rates[place] for rates in found[name]) for name in kinds}
        result |= {f"{name}, tokens a second{of}": rate for name, rate in best.items()}
        result[f"loss, %{of}"] = 100 * (1 - best["half structured"] / best["free"])
    return result


def first_token(llm: LLM, engine: str, rounds: int) -> dict[str, float]:
    """Milliseconds of requests for a single token."""
    schema = CASES[-1].schema
    kinds = {"free": free(1), "structured": held(1, engine, json=schema)}
    found: dict[str, list[float]] = {name: [] for name in kinds}
    for number in range(1 + 10 * rounds):
        for name, params in kinds.items():
            started = time.perf_counter()
            llm.generate([f"{number}. {PROMPT}"], [params], use_tqdm=False)
            if number:
                found[name].append(1e3 * (time.perf_counter() - started))
    delays = [held - free for held, free in zip(found["structured"], found["free"], strict=True)]
    medians = {name: statistics.median(times) for name, times in found.items()}
    return medians | {"delay, median": statistics.median(delays), "delay, of the best": best_of(found)}


def best_of(found: dict[str, list[float]]) -> float:
    return min(found["structured"]) - min(found["free"])


async def stream(llm: AsyncLLM, params: SamplingParams, ready: asyncio.Event | None = None) -> list[float]:
    """When each token of an answer came."""
    times = []
    async for _ in llm.generate(PROMPT, params):
        times.append(time.perf_counter())
        if ready is not None and len(times) == 2:
            ready.set()
    return times


async def beside(llm: AsyncLLM, tokens: int, slow: SamplingParams | None) -> tuple[list[float], float]:
    """Milliseconds between the tokens of free answers, while a constraint is compiled; and its seconds."""
    ready = asyncio.Event()
    streams = [asyncio.create_task(stream(llm, free(tokens), ready)) for _ in range(STREAMS)]
    await ready.wait()
    started = ended = time.perf_counter()
    if slow is not None:
        ended = (await stream(llm, slow))[0]
    found = await asyncio.gather(*streams)
    until = ended if slow is not None else float("inf")
    gaps = [
        1e3 * (after - before)
        for times in found
        for before, after in itertools.pairwise(times)
        if started <= before and after <= until
    ]
    return gaps, ended - started


async def compilation(model: str, engine: str, options: dict[str, Any], rounds: int) -> dict[str, float]:
    async with await AsyncLLM.create(model, **options) as llm:
        # The helper process and its engine are there before: their start is not a compilation.
        await stream(llm, held(4, engine, regex="[a-z]{4,9}"))
        quiet, beside_it, took = [], [], []
        for number in range(rounds):
            gaps, _ = await beside(llm, 400, None)
            quiet.append(gaps)
            gaps, seconds = await beside(llm, 400, held(1, engine, regex=f"{number}{SLOW}"))
            beside_it.append(gaps)
            took.append(seconds)
    found = {"compiled in, s": statistics.median(took)}
    for name, rounds_of in (("quiet", quiet), ("beside a compilation", beside_it)):
        found |= {
            f"{name}, between tokens, ms: median": min(statistics.median(gaps) for gaps in rounds_of),
            f"{name}, p99": min(float(np.percentile(gaps, 99)) for gaps in rounds_of),
        }
    return found


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--slow", default="outlines", help="the engine that compiles for seconds")
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--only", nargs="+", default=["loss", "first", "compile"])
    given = parser.parse_args()
    options = engine_options(given, 2 * HALF) | {"structured_compile_timeout": 120}
    found: dict[str, dict[str, float]] = {}
    if {"loss", "first"} & set(given.only):
        with LLM(given.model, **options) as llm:
            if "loss" in given.only:
                found["loss"] = loss(llm, given.engine, given.tokens, given.rounds)
            if "first" in given.only:
                found["first token, ms"] = first_token(llm, given.engine, given.rounds)
    if "compile" in given.only:
        found["compilation"] = asyncio.run(compilation(given.model, given.slow, options, min(2, given.rounds)))
    show(found, as_json=given.json)


if __name__ == "__main__":
    main()
