"""An engine on the null platform, in this process, for suites of what holds an engine."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import Any

from kernelet.contracts.sampling import SamplingParams
from kernelet.contracts.serving import EngineHealth
from kernelet.engine.async_llm import AsyncLLM
from kernelet.engine.frontend import Frontend
from kernelet.engine.prompts import ParsedPrompt, Prompt
from kernelet.request.outputs import RequestOutput
from kernelet.testing.null.model import null_config, write_model

BYTES = 256
"""Tokens that it generates: none of the special ones, so that no text ends by itself."""

CONTEXT = 1 << 20
"""A context that no test fills: a request can be caught while it runs."""


class PosingEngine(AsyncLLM):
    """An engine whose health is what a test says.

    Attributes:
        pose: Its health; None: what it is.
        silent: Calls that ask it never return.
        going: Answers go on while it is set.
    """

    pose: EngineHealth | None = None
    silent = False

    def _attach(self, frontend: Frontend) -> None:
        super()._attach(frontend)
        self.going = asyncio.Event()
        self.going.set()

    async def generate(
        self,
        prompt: Prompt | ParsedPrompt,
        sampling_params: SamplingParams | None = None,
        request_id: str | None = None,
        *,
        priority: int = 0,
    ) -> AsyncGenerator[RequestOutput, None]:
        async with aclosing(super().generate(prompt, sampling_params, request_id, priority=priority)) as outputs:
            async for output in outputs:
                await self.going.wait()
                yield output

    def health(self) -> EngineHealth:
        return super().health() if self.pose is None else self.pose

    async def check_health(self) -> None:
        await self._maybe_silent()
        await super().check_health()

    async def stats(self) -> Any:
        await self._maybe_silent()
        return await super().stats()

    async def num_running(self) -> int:
        """Requests that run or wait, as of the last step."""
        last = (await super().stats()).last
        return 0 if last is None else last.num_running + last.num_waiting

    async def num_aborted(self) -> int:
        """Requests that were aborted since the start."""
        return (await super().stats()).finished.get("abort", 0)

    async def _maybe_silent(self) -> None:
        if self.silent:
            await asyncio.Event().wait()


@contextmanager
def null_engine(folder: Path) -> Iterator[PosingEngine]:
    """A running engine.

    Args:
        folder: Gets the model.
    """
    model = write_model(folder, null_config(max_model_len=CONTEXT, vocab_size=BYTES))
    engine = PosingEngine(str(model), plugins=["core", "kernelet.testing.null:plugin"], platform="null")
    try:
        yield engine
    finally:
        engine.frontend.close()
