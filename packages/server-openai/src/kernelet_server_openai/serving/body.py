"""A request's body: read within its limits, checked, and for a model that is served."""

from __future__ import annotations

from typing import TypeVar

from starlette.requests import ClientDisconnect, Request

from kernelet_server_openai.protocol.base import Fields, read_fields
from kernelet_server_openai.protocol.errors import ApiError
from kernelet_server_openai.serving.api import api_of
from kernelet_server_openai.serving.sending import note

Body = TypeVar("Body", bound=Fields)


async def read_request(request: Request, kind: type[Body]) -> Body:
    """The body as ``kind``.

    Raises:
        ApiError: what is wrong with it.
    """
    content_type = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    if content_type != "application/json" and not content_type.endswith("+json"):
        raise ApiError(
            415, f"the body is {content_type[:100]!r}: send JSON, and say so (Content-Type: application/json)"
        )
    try:
        body = read_fields(kind, await request.body())
    except ClientDisconnect as gone:
        note(request.scope, disconnected=True)
        raise ApiError(400, "the body is not complete") from gone
    api_of(request).names.check(getattr(body, "model", None))
    return body
