"""``/version`` and ``/plugins``."""

from __future__ import annotations

from importlib import metadata

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from kernelet_server_openai.protocol.operation import Plugins, Version
from kernelet_server_openai.routes.handlers import answer, described
from kernelet_server_openai.serving.api import api_of
from kernelet_server_openai.serving.sending import send_json


def router() -> APIRouter:
    """The routes."""
    routes = APIRouter()

    @routes.get("/version")
    async def version() -> Version:
        """The core's version."""
        return Version(version=metadata.version("kernelet-core"))

    @routes.get("/plugins", **described(None, Plugins, errors=()))
    async def plugins(request: Request) -> Response:
        """What runs here, and how every layer is computed."""
        info = dict(api_of(request).engine.info())
        return answer(request, lambda send: send_json(send, info))

    return routes
