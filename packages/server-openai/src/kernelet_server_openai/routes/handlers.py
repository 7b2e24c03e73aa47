"""What the routes have in common."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from kernelet_server_openai.protocol.errors import ErrorResponse
from kernelet_server_openai.serving.api import api_of
from kernelet_server_openai.serving.disconnect import Answer, Work

ERRORS = {400: "wrong", 401: "no key", 404: "no such model", 413: "too large", 415: "no JSON", 429: "too many"}


def described(
    body: type[BaseModel] | None, answer: type[BaseModel], *, streams: bool = False, errors: tuple[int, ...] = (400,)
) -> dict[str, Any]:
    """Arguments of a route for its part of the OpenAPI document.

    Args:
        body: What is read. The route reads it itself, as bytes.
        answer: What is answered.
        streams: It may be a stream of events instead.
        errors: Statuses that can come, beside those that every route has.
    """
    content = json_of(answer)
    if streams:
        content["text/event-stream"] = {"schema": {"type": "string"}}
    responses: dict[int | str, dict[str, Any]] = {200: {"description": "done", "content": content}}
    for status in (*errors, 401, 429, 503):
        responses[status] = {"description": ERRORS.get(status, "not now"), "content": json_of(ErrorResponse)}
    found: dict[str, Any] = {"responses": responses, "response_model": None, "response_class": Response}
    if body is not None:
        found["openapi_extra"] = {"requestBody": {"required": True, "content": json_of(body)}}
    return found


def json_of(model: type[BaseModel]) -> dict[str, Any]:
    """A content that has the schema of a model; ``document`` adds the schema itself."""
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{model.__name__}"}}}


def answer(request: Request, work: Work) -> Answer:
    """``work`` as the answer to a request; it ends when the client goes away."""
    return Answer(work, api_of(request).settings.client_timeout)
