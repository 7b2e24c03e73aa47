"""Responses that are made while nobody waits."""

from __future__ import annotations

import asyncio
import logging
from contextlib import aclosing
from typing import Any

from kernelet.request.outputs import RequestOutput
from kernelet_server_openai.protocol.errors import ApiError, as_api_error
from kernelet_server_openai.serving.api import Api
from kernelet_server_openai.serving.responses import ResponseAnswer
from kernelet_server_openai.serving.responses_object import status_of

logger = logging.getLogger(__name__)

MAX_RUNNING = 64
"""Of one frontend."""


async def start(api: Api, answer: ResponseAnswer) -> dict[str, Any]:
    """Starts a response and says that it waits.

    Raises:
        ApiError: too many run, or the request is wrong.
    """
    if len(api.background) >= MAX_RUNNING:
        raise ApiError(
            429, f"background: {MAX_RUNNING} responses run in the background: wait for one", param="background"
        )
    queued = answer.head.object("queued")
    answer.keep(queued, None)
    task = asyncio.ensure_future(run(api, answer))
    api.background[answer.head.id] = task
    task.add_done_callback(lambda _: api.background.pop(answer.head.id, None))
    return queued


async def run(api: Api, answer: ResponseAnswer) -> None:
    """Makes a response; its states are kept as they come."""
    output: RequestOutput | None = None
    try:
        job = await answer.job()
        answer.keep(answer.head.object("in_progress"), None)
        async with aclosing(job.run(api.engine)) as outputs:
            async for found in outputs:
                output = found
        assert output is not None
        done = answer.head.object(status_of(output), output=output)
    except asyncio.CancelledError:
        answer.keep(answer.head.object("cancelled", output=output), output)
        raise
    except Exception as error:
        problem = as_api_error(error, answer.names, "input")
        if problem.code == "internal_error":
            logger.exception("a response in the background failed")
        done = answer.head.object("failed", output=output, error=problem)
    answer.keep(done, output)


async def cancel(api: Api, name: str) -> None:
    """Ends a response that runs; one that has ended stays as it is."""
    task = api.background.get(name)
    if task is not None:
        task.cancel()
        await asyncio.wait((task,))
