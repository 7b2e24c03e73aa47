"""The application."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import httpx
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from kernelet_router_prefix.answer import Answer
from kernelet_router_prefix.errors import RouterError
from kernelet_router_prefix.fleet import Fleet
from kernelet_router_prefix.metrics import metrics_text
from kernelet_router_prefix.requests import CHAT, COMPLETIONS, read_request
from kernelet_router_prefix.routing import Router
from kernelet_router_prefix.settings import RouterSettings
from kernelet_router_prefix.upstream import Upstream
from kernelet_router_prefix.watch import Watch

FORWARDED = ("/v1/embeddings", "/pooling", "/tokenize", "/detokenize")
"""Paths of engines to which nothing is added."""


def build_app(settings: RouterSettings, transport: httpx.AsyncBaseTransport | None = None) -> Starlette:
    """A router's ASGI application; its lifespan looks after the engines.

    Args:
        settings: Engines and limits.
        transport: Of requests to engines, instead of sockets.
    """
    fleet = Fleet(settings)
    upstream = Upstream(settings, transport)
    router = Router(fleet, upstream)
    watch = Watch(fleet, upstream, settings)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await watch.start()
        try:
            yield
        finally:
            await watch.stop()
            await upstream.close()

    async def generate(request: Request) -> Response:
        body = await read_body(request, settings.max_request_bytes)
        routed = read_request(request.url.path, body, pairs=router.pairs)
        return Answer(partial(router.generate, request=routed, headers=request.headers.items()))

    async def forward(request: Request) -> Response:
        body = await read_body(request, settings.max_request_bytes)
        method, path = request.method, request.url.path
        return Answer(partial(router.forward, method=method, path=path, headers=request.headers.items(), body=body))

    async def ready(_: Request) -> Response:
        missing = fleet.missing()
        state = {"status": "no engine is up" if missing else "ready", "missing": missing}
        return JSONResponse(state, 503 if missing else 200)

    async def live(_: Request) -> Response:
        return JSONResponse({"status": "live"})

    async def engines(_: Request) -> Response:
        return JSONResponse([engine.facts() for engine in fleet.engines])

    async def metrics(_: Request) -> Response:
        return PlainTextResponse(metrics_text(fleet))

    routes = [
        *(Route(path, generate, methods=["POST"]) for path in (COMPLETIONS, CHAT)),
        *(Route(path, forward, methods=["POST"]) for path in FORWARDED),
        Route("/v1/models", forward, methods=["GET"]),
        Route("/health", ready),
        Route("/ready", ready),
        Route("/live", live),
        Route("/engines", engines),
        Route("/metrics", metrics),
    ]
    handlers = {RouterError: told, HTTPException: told}
    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers)
    app.state.fleet = fleet
    return app


async def told(request: Request, error: Exception) -> Response:
    """An error before anything was sent."""
    if isinstance(error, HTTPException):
        code = "not_found" if error.status_code == httpx.codes.NOT_FOUND else "invalid_request"
        error = RouterError(error.status_code, f"{request.method} {request.url.path}: {error.detail}", code)
    assert isinstance(error, RouterError)
    return Response(error.body(), error.status, media_type="application/json")


async def read_body(request: Request, limit: int) -> bytes:
    """A request's body.

    Raises:
        RouterError: 413.
    """
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > limit:
            raise RouterError(413, f"the body has more than {limit} bytes", "request_too_large")
        parts.append(part)
    return b"".join(parts)
