"""``/openapi.json``, made when it is first asked for."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from kernelet_server_openai.document import document


def router() -> APIRouter:
    """The route."""
    routes = APIRouter()

    @routes.get("/openapi.json", include_in_schema=False, response_model=None)
    async def openapi(request: Request) -> Response:
        """The OpenAPI document of this server."""
        app = request.app
        if app.openapi_schema is None:
            app.openapi_schema = await asyncio.to_thread(document, app)
        return JSONResponse(app.openapi_schema)

    return routes
