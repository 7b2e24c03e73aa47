"""What becomes of a request: to one engine, or through a pair of them."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import httpx
from starlette.types import Send

from kernelet_router_prefix.answer import relay, send_whole
from kernelet_router_prefix.blocks import PromptKeys
from kernelet_router_prefix.errors import RouterError
from kernelet_router_prefix.fleet import Engine, Fleet
from kernelet_router_prefix.requests import PARAMS, Routed
from kernelet_router_prefix.settings import DECODE, ENGINE, PREFILL
from kernelet_router_prefix.upstream import UnusableError, Upstream

logger = logging.getLogger(__name__)

Headers = Sequence[tuple[str, str]]


class Router:
    """Sends requests to engines.

    Args:
        fleet: The engines.
        upstream: The way to them.
    """

    def __init__(self, fleet: Fleet, upstream: Upstream) -> None:
        self._fleet = fleet
        self._upstream = upstream
        self._pairs = PREFILL in fleet.roles
        self._last = DECODE if self._pairs else ENGINE

    @property
    def pairs(self) -> bool:
        """Whether prompts and texts are computed by different engines."""
        return self._pairs

    async def forward(self, send: Send, method: str, path: str, headers: Headers, body: bytes) -> None:
        """A request in which nothing is to be seen: the engine that has least to do answers.

        Raises:
            RouterError: none can.
        """
        async with self._any(self._last, method, path, headers, body, None) as response:
            await relay(send, response)

    async def generate(self, send: Send, request: Routed, headers: Headers) -> None:
        """A text. Of a pair, the first engine computes the prompt, the second one takes it over and goes on.

        Raises:
            RouterError: no engine can.
        """
        prompt = await self._keys(request)
        params: Mapping[str, Any] | None = None
        if self._pairs and request.single:
            answer = await self._prefill(request, headers, prompt)
            if not answer.is_success:
                await send_whole(send, answer.status_code, answer.content, answer.headers.multi_items())
                return
            params = handed_over(answer)
        body = request.to_decode(params)
        async with self._any(self._last, "POST", request.path, headers, body, prompt) as response:
            await relay(send, response)

    async def _prefill(self, request: Routed, headers: Headers, prompt: PromptKeys | None) -> httpx.Response:
        body = request.to_prefill()
        async with self._any(PREFILL, "POST", request.path, headers, body, prompt) as response:
            try:
                await response.aread()
            except httpx.TransportError as error:
                raise RouterError(502, f"the prefill engine broke off: {error!r}", "engine_lost") from error
            return response

    async def _keys(self, request: Routed) -> PromptKeys | None:
        """The prompt's tokens, where they would tell something."""
        roles = (PREFILL, DECODE) if self._pairs else (ENGINE,)
        if not any(self._fleet.knows_prefixes(role) for role in roles):
            return None
        token_ids = request.token_ids
        if token_ids is None and (question := request.to_tokenize()) is not None:
            asked = min((one for one in self._fleet.of(self._last) if one.up), key=lambda one: one.open, default=None)
            token_ids = None if asked is None else await self._upstream.tokens(asked, question)
        return None if token_ids is None else PromptKeys(token_ids, request.salt)

    @asynccontextmanager
    async def _any(
        self, role: str, method: str, path: str, headers: Headers, body: bytes, prompt: PromptKeys | None
    ) -> AsyncIterator[httpx.Response]:
        """The answer of the best engine that gives one; each is asked once.

        Raises:
            RouterError: none does.
        """
        tried: list[Engine] = []
        last: UnusableError | None = None
        while True:
            try:
                engine = self._fleet.choose(role, prompt, tried)
            except RouterError as error:
                raise (error if last is None else gave_up(last, error)) from last
            opened = self._upstream.open(engine, method, path, headers, body)
            try:
                response = await opened.__aenter__()
            except UnusableError as error:
                logger.warning("%s", error)
                tried.append(engine)
                last = error
                continue
            try:
                yield response
            finally:
                await opened.__aexit__(None, None, None)
            return


def gave_up(last: UnusableError, error: RouterError) -> RouterError:
    """What a client is told after all engines were tried."""
    if last.answer is not None:
        return RouterError(503, f"{error}: {last.answer.text[:500]}", "no_engine")
    return error


def handed_over(answer: httpx.Response) -> Mapping[str, Any] | None:
    """What the first engine says of a prompt's keys and values; None: nothing, so the second one finds them itself.

    Raises:
        RouterError: it makes no sense.
    """
    try:
        found = answer.json().get(PARAMS)
    except (ValueError, AttributeError):
        raise RouterError(502, "the prefill engine's answer is no JSON object", "engine_lost") from None
    if found is not None and not isinstance(found, dict):
        raise RouterError(502, f"{PARAMS} of the prefill engine's answer are no object", "engine_lost")
    return found
