"""Sends requests at their times, and measures what that costs the client itself."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kernelet.cli.serve_load.client import Answer, LoadClient
from kernelet.engine.progress import Progress


@dataclass(frozen=True, kw_only=True)
class Run:
    """All answers, in the order of sending.

    Attributes:
        answers: One a request.
        started: When the first one was due, as the times of answers.
        late_s: How much later than due the latest one was sent, which a limit of concurrency explains, or a client
            that is too slow.
        client_cpu_s: Processor time of this process meanwhile.
    """

    answers: Sequence[Answer]
    started: float
    late_s: float
    client_cpu_s: float


async def drive(
    client: LoadClient,
    bodies: Sequence[Mapping[str, Any]],
    due: Iterable[float],
    max_concurrency: int | None,
    progress: Progress,
) -> Run:
    """An open loop: a request is sent when it is due, whatever became of the ones before.

    Args:
        client: Sends one.
        bodies: One a request.
        due: Seconds from now, one a request.
        max_concurrency: Requests beyond so many wait for one that ends; None: no limit.
        progress: Advances with each answer.
    """
    gate = contextlib.nullcontext() if max_concurrency is None else asyncio.Semaphore(max_concurrency)

    async def one(body: Mapping[str, Any]) -> Answer:
        async with gate:
            answer = await client.ask(body)
        progress.advance()
        return answer

    cpu, started = time.process_time(), time.perf_counter()
    times, tasks = [], []
    async with asyncio.TaskGroup() as group:
        for body, at in zip(bodies, due, strict=False):
            times.append(started + at)
            if (delay := times[-1] - time.perf_counter()) > 0:
                await asyncio.sleep(delay)
            tasks.append(group.create_task(one(body)))
    answers = [task.result() for task in tasks]
    return Run(
        answers=answers,
        started=started,
        late_s=max(answer.sent - at for answer, at in zip(answers, times, strict=True)),
        client_cpu_s=time.process_time() - cpu,
    )
