"""``/metrics``."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from kernelet_server_openai.protocol.errors import ApiError
from kernelet_server_openai.serving.api import api_of


def router() -> APIRouter:
    """The route."""
    routes = APIRouter()

    @routes.get("/metrics", response_model=None)
    async def metrics(request: Request) -> Response:
        """What stat loggers show; of several, those with the first one's content type."""
        found = await api_of(request).engine.metrics()
        if not found:
            raise ApiError(404, "no stat logger shows metrics here: install one, e.g. kernelet-stats-prometheus")
        kind = found[0].content_type
        body = b"".join(one.body for one in found if one.content_type == kind)
        return Response(body, headers={"content-type": kind})

    return routes
