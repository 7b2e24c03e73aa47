"""Data through the engine's IO processor."""

from __future__ import annotations

import time

from starlette.types import Scope, Send

from kernelet_server_openai.protocol.errors import ApiError, as_api_error
from kernelet_server_openai.protocol.pooling import PoolingRequest
from kernelet_server_openai.serving.api import Api, new_heading
from kernelet_server_openai.serving.embeddings import send_vectors
from kernelet_server_openai.serving.sending import send_json


async def send_pooled(api: Api, scope: Scope, send: Send, request: PoolingRequest) -> None:
    """Asks the engine and answers.

    Raises:
        ApiError: before anything was sent.
    """
    if request.input is not None:
        return await send_vectors(api, scope, send, request, request.input, ("pool", "pooling", "data"))
    name = new_heading(api, "pool", request.request_id).id
    params = request.pooling_params() if request.asks_for_pooling else None
    try:
        output = await api.engine.encode({"data": request.data}, params, name, priority=request.priority)
    except Exception as error:
        raise as_api_error(error, prompt="data") from error
    try:
        await send_json(send, {"request_id": name, "created_at": int(time.time()), "data": output.outputs})
    except TypeError as error:
        raise ApiError(500, f"the IO processor's answer is no plain data: {error}", code="io_processor") from error
    return None
