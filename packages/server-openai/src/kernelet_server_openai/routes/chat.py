"""``/v1/chat/completions``."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from kernelet_server_openai.protocol.chat import ChatCompletion, ChatCompletionRequest
from kernelet_server_openai.routes.handlers import answer, described
from kernelet_server_openai.serving.api import api_of
from kernelet_server_openai.serving.body import read_request
from kernelet_server_openai.serving.chat import ChatAnswer


def router() -> APIRouter:
    """The route."""
    routes = APIRouter()

    @routes.post(
        "/v1/chat/completions",
        **described(ChatCompletionRequest, ChatCompletion, streams=True, errors=(400, 404, 413, 415)),
    )
    async def create_chat_completion(request: Request) -> Response:
        """Answers a conversation."""
        body = await read_request(request, ChatCompletionRequest)
        return answer(request, ChatAnswer(api_of(request), request.scope, body).send)

    return routes
