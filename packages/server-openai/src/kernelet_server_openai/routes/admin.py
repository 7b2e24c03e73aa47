"""Sleep, wake, prefix cache, drain. The routes exist only where an admin key is set."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import MappingProxyType

from fastapi import APIRouter
from starlette.requests import Request

from kernelet.errors import EngineDeadError, KerneletError
from kernelet_server_openai.protocol.errors import ApiError, as_api_error
from kernelet_server_openai.protocol.operation import Done, Sleeping
from kernelet_server_openai.routes.query import takes
from kernelet_server_openai.serving.api import api_of

PATHS = frozenset({"/sleep", "/wake_up", "/is_sleeping", "/reset_prefix_cache", "/drain"})
DEEPEST = 2
FLAG = {"type": "boolean"}
FLAGS = MappingProxyType({"true": True, "1": True, "false": False, "0": False})


async def done(work: Awaitable[None]) -> Done:
    """Waits for an operation.

    Raises:
        ApiError: it cannot be done.
    """
    try:
        await work
    except EngineDeadError as error:
        raise as_api_error(error) from error
    except KerneletError as error:
        raise ApiError(400, str(error)) from error
    return Done(status="done")


def level_of(request: Request) -> int:
    """``?level=1``.

    Raises:
        ApiError: it is no level.
    """
    text = request.query_params.get("level", "1")
    if text not in {str(level) for level in range(1, DEEPEST + 1)}:
        raise ApiError(400, f"level: got {text[:20]!r}, expected 1 or {DEEPEST}", param="level")
    return int(text)


def flag_of(request: Request, name: str) -> bool:
    """``?name=true``; false where it is not there.

    Raises:
        ApiError: it is neither true nor false.
    """
    text = request.query_params.get(name, "false")
    if text.lower() not in FLAGS:
        raise ApiError(400, f"{name}: got {text[:20]!r}, expected true or false", param=name)
    return FLAGS[text.lower()]


def router() -> APIRouter:
    """The routes."""
    routes = APIRouter()

    @routes.post("/sleep", openapi_extra=takes(level={"type": "integer", "enum": [1, DEEPEST]}))
    async def sleep(request: Request) -> Done:
        """Gives up the device's memory; requests wait."""
        return await done(api_of(request).engine.sleep(level_of(request)))

    @routes.post("/wake_up")
    async def wake_up(request: Request) -> Done:
        """Takes the memory back."""
        return await done(api_of(request).engine.wake_up())

    @routes.get("/is_sleeping")
    async def is_sleeping(request: Request) -> Sleeping:
        """Whether the engine sleeps."""
        return Sleeping(is_sleeping=api_of(request).engine.is_sleeping)

    @routes.post("/reset_prefix_cache", openapi_extra=takes(reset_external=FLAG, reset_running_requests=FLAG))
    async def reset_prefix_cache(request: Request) -> Done:
        """Forgets cached prefixes; ?reset_external=true: KV connectors forget theirs too."""
        if flag_of(request, "reset_running_requests"):
            text = "requests that run go on with blocks of their own, which nobody shares any more: leave it out"
            raise ApiError(400, f"reset_running_requests: {text}", param="reset_running_requests")
        reset_connector = flag_of(request, "reset_external")
        return await done(api_of(request).engine.reset_prefix_cache(reset_connector=reset_connector))

    @routes.post("/drain")
    async def drain(request: Request) -> Done:
        """Refuses new requests from now on; answers when those that run have ended."""
        return await done(asyncio.shield(asyncio.ensure_future(drained(api_of(request).engine.drain))))

    return routes


async def drained(drain: Callable[[], Awaitable[None]]) -> None:
    """A coroutine of its own, which goes on without the client that asked for it."""
    await drain()
