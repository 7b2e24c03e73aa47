"""``/v1/embeddings``."""

from __future__ import annotations

from functools import partial

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Send

from kernelet_server_openai.protocol.embeddings import EmbeddingRequest, EmbeddingResponse
from kernelet_server_openai.routes.handlers import answer, described
from kernelet_server_openai.serving.api import Api, api_of
from kernelet_server_openai.serving.body import read_request
from kernelet_server_openai.serving.embeddings import send_vectors

KIND = ("embd", "embedding", "embedding")


async def work(api: Api, request: Request, body: EmbeddingRequest, send: Send) -> None:
    """Makes the vectors and sends them."""
    await send_vectors(api, request.scope, send, body, body.input, KIND)


def router() -> APIRouter:
    """The route."""
    routes = APIRouter()

    @routes.post("/v1/embeddings", **described(EmbeddingRequest, EmbeddingResponse, errors=(400, 404, 413, 415)))
    async def create_embeddings(request: Request) -> Response:
        """Vectors of texts."""
        body = await read_request(request, EmbeddingRequest)
        return answer(request, partial(work, api_of(request), request, body))

    return routes
