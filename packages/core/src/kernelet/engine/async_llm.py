"""The engine for asyncio."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Mapping, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Self

import msgspec

from kernelet.contracts.sampling import SamplingParams
from kernelet.contracts.serving import EngineClient, EngineHealth
from kernelet.engine.frontend import Frontend
from kernelet.engine.input_processor import check_request_id
from kernelet.engine.owned_request import OwnedRequest
from kernelet.engine.pooling_client import PoolingClient
from kernelet.engine.prompts import ParsedPrompt, Prompt
from kernelet.engine.started import StartedEngine
from kernelet.engine.stats import EngineStats
from kernelet.errors import EngineDeadError, ParameterError, RequestFailedError
from kernelet.request.outputs import EngineOutput, RequestOutput

if TYPE_CHECKING:
    from types import TracebackType

Item = Sequence[EngineOutput] | EngineDeadError | None
"""What comes to a request's iteration; None: it was aborted by name."""


class AsyncLLM(PoolingClient, StartedEngine, EngineClient):
    """A model that answers many requests at once, each as an asynchronous iteration.

    Making one loads the model and blocks; in a running event loop use ``await AsyncLLM.create(...)``.

    Args:
        model: A plugin's model name, a local folder, or a Hugging Face hub id.
        options: As for ``LLM``; see ``kernelet.engine.options``.

    Raises:
        KerneletError: the engine cannot start, and why.
    """

    def _attach(self, frontend: Frontend) -> None:
        super()._attach(frontend)
        self._open: dict[str, asyncio.Queue[Item]] = {}
        self._draining = False
        self._idle = asyncio.Event()
        self._idle.set()

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
        name = f"request-{next(self._ids)}" if request_id is None else check_request_id(request_id)
        params = SamplingParams() if sampling_params is None else sampling_params
        prepared = await asyncio.to_thread(
            self._frontend.input_processor.prepare, prompt, params, request_id=name, priority=priority
        )
        if name in self._open:
            raise ParameterError("request_id", f"{name!r} is in use: choose another")
        if self._draining:
            raise EngineDeadError("the engine is stopping and takes no new requests")
        loop, items = asyncio.get_running_loop(), asyncio.Queue[Item]()

        def sink(outputs: Sequence[EngineOutput] | EngineDeadError) -> None:
            loop.call_soon_threadsafe(items.put_nowait, outputs)

        self._open[name] = items
        self._idle.clear()
        try:
            with self._frontend.own(prepared, sink) as request:
                async for output in self._outputs(request, items):
                    yield output
        finally:
            del self._open[name]
            if not self._open:
                self._idle.set()

    @staticmethod
    async def _outputs(request: OwnedRequest, items: asyncio.Queue[Item]) -> AsyncGenerator[RequestOutput, None]:
        """One item for all steps that were finished since the item before."""
        while not request.finished:
            waiting = [await items.get()]
            while not items.empty():
                waiting.append(items.get_nowait())
            for item in waiting:
                output = request.aborted() if item is None else request.update(item)
            if request.error is not None:
                raise RequestFailedError(request.error)
            yield output

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
        items = self._open.get(request_id)
        if items is not None:
            items.put_nowait(None)

    async def stats(self) -> EngineStats:
        return self._frontend.client.stats()

    async def reset_prefix_cache(self) -> None:
        await asyncio.to_thread(self._frontend.client.reset_prefix_cache)

    async def control(self, plugin: str, name: str, payload: bytes) -> bytes:
        return await asyncio.to_thread(self._frontend.client.control, plugin, name, payload)

    async def check_health(self) -> None:
        self._frontend.client.check_health()

    def health(self) -> EngineHealth:
        try:
            self._frontend.client.check_health()
        except EngineDeadError as error:
            return EngineHealth(state="dead", detail=str(error))
        return EngineHealth(state="draining" if self._draining else "ready")

    def info(self) -> Mapping[str, Any]:
        return {"versions": {"kernelet-core": version("kernelet-core")}, "plan": msgspec.to_builtins(self.plan)}

    async def drain(self) -> None:
        self._draining = True
        await self._idle.wait()

    async def shutdown(self) -> None:
        await asyncio.to_thread(self._finalizer)
