"""The application: routes, what every request passes, and endpoints beside."""

from __future__ import annotations

from fastapi import Depends, FastAPI
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from kernelet.contracts.serving import MountedEndpoint, ServerContext
from kernelet_server_openai.middleware.access_log import AccessLog, LogWriter
from kernelet_server_openai.middleware.auth import Auth
from kernelet_server_openai.middleware.body_size import BodySize
from kernelet_server_openai.middleware.errors import handlers
from kernelet_server_openai.middleware.head import Head
from kernelet_server_openai.middleware.limits import Limits
from kernelet_server_openai.middleware.memory import Memory
from kernelet_server_openai.routes import (
    admin,
    chat,
    completions,
    embeddings,
    health,
    kv_events,
    metrics,
    models,
    openapi,
    pooling,
    responses,
    tokens,
    version,
)
from kernelet_server_openai.routes.query import check_query
from kernelet_server_openai.serving.api import Api
from kernelet_server_openai.serving.large import LargeWork
from kernelet_server_openai.serving.names import ServedNames
from kernelet_server_openai.serving.responses_store import response_store
from kernelet_server_openai.settings import Cors, ServerSettings

ROUTES = (
    chat,
    completions,
    responses,
    embeddings,
    pooling,
    models,
    tokens,
    version,
    kv_events,
    openapi,
)

PROBES = (health, metrics)
"""What monitors send with their probes is their own business."""


def build_app(context: ServerContext, settings: ServerSettings, log: LogWriter) -> FastAPI:
    """The application of one frontend."""
    large = LargeWork()
    app = FastAPI(
        title="Kernelet",
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        middleware=middleware(settings, log, large),
        exception_handlers=handlers(),
    )
    app.state.api = Api(
        context=context,
        settings=settings,
        names=ServedNames(context.served_model_names),
        responses=response_store(settings.response_store_bytes, context.num_frontends),
        large=large,
    )
    for module in (*ROUTES, *((admin,) if settings.admin_keys else ())):
        app.include_router(module.router(), dependencies=[Depends(check_query)])
    for module in PROBES:
        app.include_router(module.router())
    for endpoint in context.endpoints:
        app.router.routes.append(Route(endpoint.prefix, Exact(endpoint)))
        app.mount(endpoint.prefix, endpoint.app, name=endpoint.name)
    return app


class Exact:
    """An endpoint at its prefix itself: nothing redirects to the path with a slash behind.

    Args:
        endpoint: What is mounted.
    """

    def __init__(self, endpoint: MountedEndpoint) -> None:
        self._endpoint = endpoint

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """An ASGI application."""
        root = scope.get("root_path", "") + self._endpoint.prefix
        await self._endpoint.app({**scope, "root_path": root}, receive, send)


def middleware(settings: ServerSettings, log: LogWriter, large: LargeWork) -> list[Middleware]:
    """From the outside in: errors of those inside are logged, and readable by pages of other origins."""
    return [
        Middleware(AccessLog, writer=log),
        Middleware(Memory, large=large),
        *([cors(settings.cors)] if settings.cors else []),
        Middleware(Head),
        Middleware(Auth, api_keys=settings.api_keys, admin_keys=settings.admin_keys),
        Middleware(Limits, concurrent=settings.max_concurrent_requests, per_minute=settings.requests_per_minute),
        Middleware(BodySize, limit=settings.max_request_bytes),
    ]


def cors(settings: Cors) -> Middleware:
    """What pages of other origins may do."""
    return Middleware(
        CORSMiddleware,
        allow_origins=settings.origins,
        allow_methods=settings.methods,
        allow_headers=settings.headers,
        allow_credentials=settings.credentials,
        expose_headers=["x-request-id", "retry-after"],
    )
