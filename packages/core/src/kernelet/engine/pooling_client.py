"""``encode`` of the engine for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final, TypeVar

from kernelet.contracts.pooling import PoolingParams, PoolingRequestOutput
from kernelet.engine.frontend import Frontend
from kernelet.engine.input_processor import check_request_id
from kernelet.engine.open_requests import OpenRequests
from kernelet.engine.pooling import OwnedPooling, PreparedPooling, Vector
from kernelet.engine.prompts import ParsedPrompt, Prompt
from kernelet.errors import RequestFailedError

T = TypeVar("T")

PREPARING: Final = 2
"""Threads that prepare requests."""


class PoolingClient:
    """What an ``AsyncLLM`` does with prompts whose states are pooled."""

    _frontend: Frontend
    _new_id: Callable[[], str]
    _open: OpenRequests
    _preparing: ThreadPoolExecutor

    @property
    def supported_tasks(self) -> tuple[str, ...]:
        """What can be asked for: every model pools, and data is for an IO processor."""
        return ("generate", "embed", *(() if self._frontend.io_processor is None else ("plugin",)))

    async def encode(
        self,
        prompt: Prompt | Mapping[str, Any] | ParsedPrompt,
        pooling_params: PoolingParams | None = None,
        request_id: str | None = None,
        *,
        priority: int = 0,
    ) -> PoolingRequestOutput[Any]:
        """Pools the states of one prompt; ``{"data": ...}`` is given to the engine's IO processor.

        Cancelling the task aborts the request.

        Returns:
            ``outputs`` is a ``PoolingOutput``, or for data the processor's answer.

        Raises:
            RequestError: the request is wrong, was aborted, or failed by itself.
            EngineDeadError: the engine stopped.
        """
        name = self._new_id() if request_id is None else check_request_id(request_id)
        if isinstance(prompt, Mapping) and "data" in prompt:
            return await self._process(name, prompt, pooling_params, priority)
        prepare = self._frontend.pooling.prepare
        prepared = await self._aside(partial(prepare, prompt, pooling_params, request_id=name, priority=priority))
        (output,) = await self._pool(name, [prepared])
        return output

    async def _aside(self, prepare: Callable[[], T]) -> T:
        """Prepares requests off the event loop, on few threads: each takes the interpreter from it for a while."""
        return await asyncio.get_running_loop().run_in_executor(self._preparing, prepare)

    async def _process(
        self, name: str, prompt: Mapping[str, Any], params: PoolingParams | None, priority: int
    ) -> PoolingRequestOutput[Any]:
        processor, prepare = self._frontend.need_io_processor(), self._frontend.pooling.prepare
        data, merged = await asyncio.to_thread(processor.begin, prompt, params)
        prompts = await processor.prompts_async(data)

        def prepare_all() -> list[PreparedPooling]:
            return [
                prepare(one, merged, request_id=f"{name}/{index}", priority=priority)
                for index, one in enumerate(prompts)
            ]

        outputs = await self._pool(name, await self._aside(prepare_all))
        answer = await processor.answer_async(data, outputs)
        answer.request_id = name
        return answer

    async def _pool(self, name: str, prompts: Sequence[PreparedPooling]) -> list[Vector]:
        with self._open.enter(name) as (items, sink), OwnedPooling(self._frontend.client, prompts, sink) as owned:
            while not owned.finished:
                item = await items.get()
                if item is None:
                    raise RequestFailedError(f"request {name!r} was aborted")
                owned.take(item)
        return owned.results()
