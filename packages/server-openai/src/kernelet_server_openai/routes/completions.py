"""``/v1/completions``."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from kernelet_server_openai.protocol.completions import Completion, CompletionRequest
from kernelet_server_openai.routes.handlers import answer, described
from kernelet_server_openai.serving.api import api_of
from kernelet_server_openai.serving.body import read_request
from kernelet_server_openai.serving.completions import CompletionAnswer


def router() -> APIRouter:
    """The route."""
    routes = APIRouter()

    @routes.post(
        "/v1/completions", **described(CompletionRequest, Completion, streams=True, errors=(400, 404, 413, 415))
    )
    async def create_completion(request: Request) -> Response:
        """Continues a text, or several."""
        body = await read_request(request, CompletionRequest)
        return answer(request, CompletionAnswer(api_of(request), request.scope, body).send)

    return routes
