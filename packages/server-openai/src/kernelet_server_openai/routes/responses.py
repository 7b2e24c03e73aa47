"""``/v1/responses``."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from kernelet_server_openai.protocol.errors import ApiError
from kernelet_server_openai.protocol.responses import DeletedResponse, ResponseObject, ResponsesRequest
from kernelet_server_openai.routes.handlers import answer, described
from kernelet_server_openai.routes.query import takes
from kernelet_server_openai.serving import responses_background as background
from kernelet_server_openai.serving.api import api_of
from kernelet_server_openai.serving.body import read_request
from kernelet_server_openai.serving.responses import ResponseAnswer, owner_of
from kernelet_server_openai.serving.sending import ENCODER

ONE = "/v1/responses/{response_id}"


def find(request: Request, response_id: str) -> dict[str, Any]:
    """A kept response.

    Raises:
        ApiError: 404.
    """
    api = api_of(request)
    api.responses.check("response_id")
    kept = api.responses.get(response_id, owner_of(request.scope))
    if kept is None:
        raise not_found(response_id)
    return kept.response


def not_found(response_id: str) -> ApiError:
    """What whoever asks for a response that is not kept gets."""
    return ApiError(
        404,
        f"response_id: there is no response {response_id[:100]!r}: it was not stored, or has been forgotten",
        param="response_id",
        code="response_not_found",
    )


def reply(content: object) -> Response:
    """A whole answer."""
    return Response(ENCODER.encode(content), media_type="application/json")


def router() -> APIRouter:
    """The routes."""
    routes = APIRouter()

    @routes.post(
        "/v1/responses",
        **described(ResponsesRequest, ResponseObject, streams=True, errors=(400, 404, 413, 415)),
    )
    async def create_response(request: Request) -> Response:
        """Answers input; the response is kept for a next turn."""
        body = await read_request(request, ResponsesRequest)
        made = ResponseAnswer(api_of(request), request.scope, body)
        if body.background:
            return reply(await background.start(api_of(request), made))
        return answer(request, made.send)

    @routes.get(ONE, **described(None, ResponseObject, errors=(400, 404)), openapi_extra=takes(stream={"const": False}))
    async def retrieve_response(request: Request, response_id: str) -> Response:
        """A response that was kept."""
        if request.query_params.get("stream", "false").lower() not in {"false", "0"}:
            raise ApiError(400, "stream: a kept response is not streamed: leave it out", param="stream")
        return reply(find(request, response_id))

    @routes.delete(ONE, **described(None, DeletedResponse, errors=(400, 404)))
    async def delete_response(request: Request, response_id: str) -> Response:
        """Forgets a response; one that runs ends."""
        api = api_of(request)
        find(request, response_id)
        await background.cancel(api, response_id)
        api.responses.delete(response_id, owner_of(request.scope))
        return reply({"id": response_id, "object": "response", "deleted": True})

    @routes.post(f"{ONE}/cancel", **described(None, ResponseObject, errors=(400, 404)))
    async def cancel_response(request: Request, response_id: str) -> Response:
        """Ends a response that runs in the background."""
        if not find(request, response_id)["background"]:
            raise ApiError(
                400, "response_id: only a response that runs in the background can be cancelled", param="response_id"
            )
        await background.cancel(api_of(request), response_id)
        return reply(find(request, response_id))

    return routes
