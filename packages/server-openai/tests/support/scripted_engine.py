"""An engine that says what it was told to say."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, cast

from kernelet.contracts.sampling import SamplingParams
from kernelet.contracts.serving import EngineClient, EngineHealth, Exposition, ParsersInfo
from kernelet.engine.prompts import ParsedPrompt
from kernelet.engine.stats import EngineStats
from kernelet.request.outputs import CompletionOutput, Logprob, RequestOutput


def lp(text: str | bytes, value: float = -1.0, rank: int = 1) -> Logprob:
    piece = text.encode() if isinstance(text, str) else text
    return Logprob(logprob=value, rank=rank, decoded_token=piece.decode("utf-8", "replace"), bytes=piece)


def choice(text: str, token_ids: Sequence[int] = (), index: int = 0, **fields: Any) -> CompletionOutput:
    return CompletionOutput(index=index, text=text, token_ids=list(token_ids), **fields)


def output(*choices: CompletionOutput, prompt: Sequence[int] = (1, 2, 3), **fields: Any) -> RequestOutput:
    finished = all(one.finish_reason is not None for one in choices)
    return RequestOutput(
        request_id="r", prompt="abc", prompt_token_ids=list(prompt), outputs=list(choices), finished=finished, **fields
    )


DONE = output(choice("hello", (7, 8), finish_reason="stop"))


class ScriptedEngine(EngineClient):
    """Each request gets ``items``: outputs are given, exceptions raised, events waited for."""

    def __init__(self, *items: Any, state: str = "ready", parsers: ParsersInfo | None = None) -> None:
        self.items = items or (DONE,)
        self.state = state
        self.parses = parsers or ParsersInfo()
        self.asked: list[tuple[Any, SamplingParams | None, str | None, int]] = []
        self.messages: list[tuple[Any, dict[str, Any]]] = []
        self.running = 0
        self.vectors: Any = None
        self.calls: list[Any] = []
        self.shown: list[Exposition] = []
        self.fails: Exception | None = None
        self.slept = False
        self.begun = threading.Event()

    @property
    def config(self) -> Any:
        return SimpleNamespace(model=SimpleNamespace(model="fake", max_model_len=64, vocab_size=260))

    @property
    def plan(self) -> Any:
        return None

    @property
    def parsers(self) -> ParsersInfo:
        return self.parses

    def get_tokenizer(self) -> Any:
        return None

    async def chat_prompt(self, messages: Sequence[Mapping[str, Any]], **template: Any) -> ParsedPrompt:
        self.messages.append((messages, template))
        return ParsedPrompt(text="abc", add_special_tokens=False)

    async def generate(
        self, prompt: Any, sampling_params: Any = None, request_id: Any = None, *, priority: int = 0
    ) -> AsyncGenerator[RequestOutput, None]:
        self.asked.append((prompt, sampling_params, request_id, priority))
        self.running += 1
        self.begun.set()
        try:
            for item in self.items:
                if isinstance(item, asyncio.Event):
                    await item.wait()
                elif isinstance(item, Exception):
                    raise item
                else:
                    yield item
        finally:
            self.running -= 1

    async def encode(
        self, prompt: Any, pooling_params: Any = None, request_id: Any = None, *, priority: int = 0
    ) -> Any:
        self.asked.append((prompt, pooling_params, request_id, priority))
        self.running += 1
        try:
            if isinstance(self.vectors, asyncio.Event):
                await self.vectors.wait()
            if isinstance(self.vectors, Exception):
                raise self.vectors
            return self.vectors
        finally:
            self.running -= 1

    async def abort(self, request_id: str) -> None:
        raise AssertionError(request_id)

    def health(self) -> EngineHealth:
        return EngineHealth(state=self.state, detail="why", age=1.5)

    async def check_health(self) -> None:
        pass

    async def stats(self) -> EngineStats:
        return EngineStats()

    async def metrics(self) -> list[Exposition]:
        return self.shown

    def info(self) -> Mapping[str, Any]:
        return {"plugins": ["one"], "plan": {"value": 1}}

    async def _called(self, *what: Any) -> None:
        self.calls.append(what)
        if self.fails is not None:
            raise self.fails

    async def reset_prefix_cache(self, *, reset_connector: bool = False) -> None:
        await self._called("reset_prefix_cache", reset_connector)

    async def control(self, plugin: str, name: str, payload: bytes) -> bytes:
        raise AssertionError(plugin)

    @property
    def is_sleeping(self) -> bool:
        return self.slept

    async def sleep(self, level: int = 1) -> None:
        await self._called("sleep", level)

    async def wake_up(self) -> None:
        await self._called("wake_up")

    async def drain(self) -> None:
        await self._called("drain")

    async def shutdown(self) -> None:
        pass


def asked(engine: ScriptedEngine) -> SamplingParams:
    """What the only request's parameters were."""
    ((_, params, _, _),) = engine.asked
    return cast("SamplingParams", params)
