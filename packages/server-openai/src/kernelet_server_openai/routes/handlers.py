"""What the routes have in common."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel
from starlette.requests import Request

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
    content: dict[str, Any] = {"text/event-stream": {"schema": {"type": "string"}}} if streams else {}
    responses: dict[int | str, dict[str, Any]] = {200: {"model": answer, "description": "done", "content": content}}
    for status in (*errors, 401, 429, 503):
        responses[status] = {"model": ErrorResponse, "description": ERRORS.get(status, "not now")}
    found: dict[str, Any] = {"responses": responses, "response_model": None}
    if body is not None:
        schema = {"$ref": f"#/components/schemas/{body.__name__}"}
        found["openapi_extra"] = {
            "requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}
        }
    return found


def answer(request: Request, work: Work) -> Answer:
    """``work`` as the answer to a request; it ends when the client goes away."""
    return Answer(work, api_of(request).settings.client_timeout)
