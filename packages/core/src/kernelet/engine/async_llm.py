"""The engine for asyncio."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import msgspec

from kernelet.contracts.sampling import SamplingParams
from kernelet.contracts.serving import EngineClient, EngineHealth, Exposition
from kernelet.engine.driver import DRAINING
from kernelet.engine.frontend import Frontend
from kernelet.engine.input_processor import check_request_id, wanted_constraint
from kernelet.engine.open_requests import Item, OpenRequests
from kernelet.engine.owned_request import OwnedRequest
from kernelet.engine.pooling_client import PREPARING, PoolingClient
from kernelet.engine.prompts import ParsedPrompt, Prompt
from kernelet.engine.several import failure
from kernelet.engine.started import StartedEngine
from kernelet.engine.stats import EngineStats
from kernelet.errors import EngineDeadError, EngineDrainingError
from kernelet.request.outputs import RequestOutput

if TYPE_CHECKING:
    from types import TracebackType


class AsyncLLM(PoolingClient, StartedEngine, EngineClient):
    """A model that answers many requests at once, each as an asynchronous iteration.

    Making one loads the model and blocks; in a running event loop use ``await AsyncLLM.create(...)``.

    Args:
        model: A plugin's model name, a local folder or model file, or a Hugging Face hub id.
        options: As for ``LLM``; see ``kernelet.engine.options``.

    Raises:
        KerneletError: the engine cannot start, and why.
    """

    def _attach(self, frontend: Frontend) -> None:
        super()._attach(frontend)
        self._open = OpenRequests(self._check_draining)
        self._preparing = ThreadPoolExecutor(PREPARING, thread_name_prefix="prepare")

    @classmethod
    async def create(cls, model: str, **options: Any) -> Self:
        """Loads the model on another thread."""
        return await asyncio.to_thread(cls, model, **options)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.shutdown()

    async def generate(
        self,
        prompt: Prompt | ParsedPrompt,
        sampling_params: SamplingParams | None = None,
        request_id: str | None = None,
        *,
        priority: int = 0,
    ) -> AsyncGenerator[RequestOutput, None]:
        name = self._new_id() if request_id is None else check_request_id(request_id)
        params = SamplingParams() if sampling_params is None else sampling_params
        prepare = partial(self._frontend.input_processor.prepare, prompt, params, request_id=name, priority=priority)
        wanted = wanted_constraint(prompt, params)
        if wanted is not None:
            constraint = await self._frontend.structured.prepare_async(wanted)
            prepare = partial(prepare, constraint=constraint)
        prepared = await self._aside(prepare)
        with self._open.enter(name) as (items, sink), self._frontend.own(prepared, sink) as request:
            async for output in self._outputs(request, items):
                yield output

    async def _outputs(self, request: OwnedRequest, items: asyncio.Queue[Item]) -> AsyncGenerator[RequestOutput, None]:
        """One item for all steps that were finished since the item before."""
        while not request.finished:
            waiting = [await items.get()]
            while not items.empty():
                waiting.append(items.get_nowait())
            for item in waiting:
                if item is None:
                    request.aborted()
                else:
                    request.take(item)
            if request.error is not None:
                raise failure(request.error, request.error_parameter, try_again=request.try_again)
            await self._frontend.check_async(request)
            yield request.snapshot()

    async def chat(
        self, messages: Sequence[Mapping[str, Any]], sampling_params: SamplingParams | None = None, **template: Any
    ) -> AsyncGenerator[RequestOutput, None]:
        """``generate`` for the prompt that the chat template makes of messages.

        Args:
            messages: Objects with ``role`` and ``content``.
            sampling_params: None: the defaults.
            template: As for ``LLM.chat``.

        Raises:
            ChatTemplateError: the model has no template, or it refused the messages.
        """
        prompt = await self.chat_prompt(messages, **template)
        async with contextlib.aclosing(self.generate(prompt, sampling_params)) as outputs:
            async for output in outputs:
                yield output

    async def chat_prompt(self, messages: Sequence[Mapping[str, Any]], **template: Any) -> ParsedPrompt:
        return await self._frontend.chats.prompt_async(messages, **template)

    async def abort(self, request_id: str) -> None:
        self._open.abort(request_id)

    async def stats(self) -> EngineStats:
        return self._frontend.client.stats()

    async def reset_prefix_cache(self, *, reset_connector: bool = False) -> None:
        await asyncio.to_thread(self._frontend.client.reset_prefix_cache, reset_connector=reset_connector)

    async def control(self, plugin: str, name: str, payload: bytes) -> bytes:
        return await asyncio.to_thread(self._frontend.client.control, plugin, name, payload)

    async def metrics(self) -> list[Exposition]:
        return await asyncio.to_thread(self._frontend.client.expositions)

    async def check_health(self) -> None:
        self._frontend.client.check_health()

    def health(self) -> EngineHealth:
        health = self._frontend.client.health()
        if self._open.draining and health.state == "ready":
            return msgspec.structs.replace(health, state="draining", detail=DRAINING)
        return health

    def info(self) -> Mapping[str, Any]:
        return dict(self._frontend.facts)

    @property
    def is_sleeping(self) -> bool:
        return self._frontend.client.health().state == "asleep"

    async def sleep(self, level: int = 1) -> None:
        await asyncio.to_thread(self._frontend.client.sleep, level)

    async def wake_up(self) -> None:
        await asyncio.to_thread(self._frontend.client.wake_up)
        self._open.draining = False

    async def drain(self) -> None:
        await self._open.drain()  # first: answers of these may still be sent to the engine, see OwnedRequest
        await asyncio.to_thread(self._frontend.client.drain)

    def cut(self, reason: str) -> None:
        """Ends what runs here with EngineDeadError, and takes no new requests. From any thread."""
        self._open.cut(EngineDeadError(reason))

    async def shutdown(self) -> None:
        await asyncio.to_thread(self._finalizer)
        self._preparing.shutdown(wait=False)
        self._preparing = ThreadPoolExecutor(PREPARING)  # for requests that are told that the engine is gone

    def _check_draining(self) -> None:
        """Other frontends may have asked for it."""
        health = self._frontend.client.health()
        if health.state == "draining":
            raise EngineDrainingError(health.detail)
