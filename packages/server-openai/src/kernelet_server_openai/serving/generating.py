"""Requests to the engine, and their outputs as one answer or as a stream of chunks."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Protocol

from starlette.types import Scope, Send

from kernelet.contracts.sampling import SamplingParams
from kernelet.contracts.serving import EngineClient
from kernelet.request.outputs import RequestOutput
from kernelet_server_openai.protocol.errors import as_api_error
from kernelet_server_openai.serving.merging import last_items, merge
from kernelet_server_openai.serving.sending import DONE, note, send_part, start_stream

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Job:
    """One request to the engine."""

    prompt: Any
    params: SamplingParams
    request_id: str
    priority: int = 0

    def run(self, engine: EngineClient) -> AsyncGenerator[RequestOutput, None]:
        """Its outputs."""
        return engine.generate(self.prompt, self.params, self.request_id, priority=self.priority)


class Chunks(Protocol):
    """Writes the events of one stream."""

    def begin(self) -> bytes:
        """What comes before the first token."""
        ...

    def write(self, place: int, output: RequestOutput) -> bytes:
        """What an output adds; empty: nothing that a client could see.

        Args:
            place: Number of the request among those of the stream.
            output: Everything so far.
        """
        ...

    def end(self) -> bytes:
        """What comes after the last token."""
        ...

    @property
    def usage(self) -> dict[str, Any]:
        """Token counts so far."""
        ...


async def final_outputs(engine: EngineClient, jobs: Sequence[Job]) -> list[RequestOutput]:
    """The last output of each."""
    return await last_items([job.run(engine) for job in jobs])


async def final_output(engine: EngineClient, job: Job) -> RequestOutput:
    """The last output of the only one."""
    (output,) = await final_outputs(engine, (job,))
    return output


async def stream_outputs(send: Send, engine: EngineClient, jobs: Sequence[Job], chunks: Chunks, scope: Scope) -> None:
    """Sends outputs as they come. While the client does not read, what comes is kept by the engine's client alone.

    The answer starts with the first output, so that a request that is wrong gets an error of its own status.

    Raises:
        Exception: what the engine raised before the answer started.
    """
    started = False
    try:
        async with aclosing(merge([job.run(engine) for job in jobs])) as outputs:
            async for place, output in outputs:
                part = chunks.write(place, output)
                if not started:
                    await start_stream(send)
                    started = True
                    part = chunks.begin() + part
                if part:
                    await send_part(send, part)
        last = chunks.end() + DONE
    except Exception as error:
        if not started:
            raise
        problem = as_api_error(error)
        if problem.code == "internal_error":
            logger.exception("a stream failed")
        last = b"data: " + problem.body() + b"\n\n" + DONE
        note(scope, error=problem.message)
    finally:
        if started:
            note(scope, usage=chunks.usage)
    await send_part(send, last, last=True)
