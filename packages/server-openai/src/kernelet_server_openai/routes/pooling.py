"""``/pooling``."""

from __future__ import annotations

from functools import partial

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Send

from kernelet_server_openai.protocol.pooling import PoolingRequest, PoolingResponse
from kernelet_server_openai.routes.handlers import answer, described
from kernelet_server_openai.serving.api import Api, api_of
from kernelet_server_openai.serving.body import read_request
from kernelet_server_openai.serving.pooling import send_pooled


async def work(api: Api, request: Request, body: PoolingRequest, send: Send) -> None:
    """Makes the answer and sends it."""
    await send_pooled(api, request.scope, send, body)


def router() -> APIRouter:
    """The route."""
    routes = APIRouter()

    @routes.post("/pooling", **described(PoolingRequest, PoolingResponse, errors=(400, 404, 413, 415)))
    async def pooling(request: Request) -> Response:
        """Vectors of texts, or what an IO processor makes of data."""
        body = await read_request(request, PoolingRequest)
        body.check()
        return answer(request, partial(work, api_of(request), request, body))

    return routes
