"""``/live``, ``/ready`` and ``/health``: none of them waits for the engine."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from kernelet.contracts.serving import EngineHealth
from kernelet_server_openai.protocol.operation import Health, Live
from kernelet_server_openai.serving.api import api_of

HEALTHY = frozenset({"ready", "asleep", "draining"})
"""States in which nothing is wrong, though not all of them take requests."""

STATES: dict[int | str, dict[str, Any]] = {200: {"model": Health}, 503: {"model": Health, "description": "not now"}}


def shown(health: EngineHealth, *, good: bool) -> Response:
    """An engine's health as an answer."""
    content = {"status": health.state, "detail": health.detail, "age": round(health.age, 3)}
    return JSONResponse(content, 200 if good else 503)


def router() -> APIRouter:
    """The routes."""
    routes = APIRouter()

    @routes.get("/live")
    async def live() -> Live:
        """The process answers."""
        return Live(status="live")

    @routes.get("/ready", response_model=None, responses={**STATES})
    async def ready(request: Request) -> Response:
        """Requests should be sent here."""
        health = api_of(request).engine.health()
        return shown(health, good=health.ready)

    @routes.get("/health", response_model=None, responses={**STATES})
    async def health(request: Request) -> Response:
        """The engine makes progress, or is idle."""
        found = api_of(request).engine.health()
        return shown(found, good=found.state in HEALTHY)

    return routes
