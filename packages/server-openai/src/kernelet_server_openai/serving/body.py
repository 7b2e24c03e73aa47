"""A request's body: read within its limits, checked, and for a model that is served."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Final, TypeVar

from starlette.requests import ClientDisconnect, Request

from kernelet_server_openai.protocol.base import Fields, read_fields
from kernelet_server_openai.protocol.errors import ApiError
from kernelet_server_openai.protocol.reading import MAX_IDS
from kernelet_server_openai.serving.api import api_of
from kernelet_server_openai.serving.sending import note

Body = TypeVar("Body", bound=Fields)

BODY_SECONDS: Final = 60.0
"""How long a client may take to send a body: it holds one of the requests that may run at once."""


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
    coding = request.headers.get("content-encoding", "identity").strip().lower()
    if coding not in {"identity", ""}:
        raise ApiError(
            415, f"the body is encoded ({coding[:100]!r}): send JSON as it is", headers={"accept-encoding": "identity"}
        )
    try:
        async with asyncio.timeout(BODY_SECONDS):
            data = await request.body()
    except TimeoutError as late:
        raise ApiError(
            408, f"the body did not come within {BODY_SECONDS:g} s", headers={"connection": "close"}
        ) from late
    except ClientDisconnect as gone:
        note(request.scope, disconnected=True)
        raise ApiError(400, "the body is not complete") from gone
    api = api_of(request)
    most = max(MAX_IDS, api.engine.config.model.max_model_len)
    body = await api.large.run(len(data), partial(read_fields, kind, data, most))
    api.names.check(getattr(body, "model", None))
    return body
