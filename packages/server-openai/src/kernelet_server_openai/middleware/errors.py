"""Errors as answers, in OpenAI's shape."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from kernelet_server_openai.protocol.errors import ApiError, as_api_error
from kernelet_server_openai.serving.sending import note

WORDS = {404: "there is no such path", 405: "the path does not take this method"}


def response_of(error: ApiError) -> Response:
    """An ASGI application that answers with an error."""
    return Response(error.body(), error.status, headers={"content-type": "application/json", **error.headers})


def handlers() -> dict[int | type[Exception], Callable[[Request, Any], Coroutine[Any, Any, Response]]]:
    """For ``FastAPI(exception_handlers=...)``."""
    return {ApiError: on_api_error, HTTPException: on_http_error, Exception: on_error}


async def on_api_error(request: Request, error: ApiError) -> Response:
    """Errors of ours."""
    note(request.scope, error=error.message)
    return response_of(error)


async def on_http_error(_request: Request, error: HTTPException) -> Response:
    """Errors of the framework: an unknown path, a wrong method."""
    message = WORDS.get(error.status_code, str(error.detail))
    return response_of(ApiError(error.status_code, message, headers=error.headers))


async def on_error(_request: Request, error: Exception) -> Response:
    """Anything else; the framework logs it afterwards."""
    return response_of(as_api_error(error))
