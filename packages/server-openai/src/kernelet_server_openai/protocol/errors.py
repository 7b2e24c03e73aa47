"""Errors in OpenAI's shape."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec
from pydantic import BaseModel

from kernelet.errors import (
    ChatTemplateError,
    EngineDeadError,
    EngineDrainingError,
    KerneletError,
    ParameterError,
    PromptError,
    RequestError,
    RequestFailedError,
    SandboxBusyError,
)

NO_NAMES: Mapping[str, str] = {"": ""}
PLACE = re.compile(
    r"(?:tools|chat_template_kwargs|continue_final_message|add_generation_prompt)(?:\.[^\s.:\[]+|\[\d+\])*(?=[ :])"
)
"""What a chat template's errors begin with where something else than messages is wrong."""
INVALID, SERVER, LIMIT = "invalid_request_error", "server_error", "rate_limit_error"


class ErrorDetail(BaseModel):
    """What is wrong, and with which field."""

    message: str
    type: str
    param: str | None = None
    code: str | None = None


class ErrorResponse(BaseModel):
    """The body of every answer that is no success."""

    error: ErrorDetail


class ApiError(Exception):
    """An answer that is an error.

    Args:
        status: HTTP status.
        message: What is wrong and what to do.
        param: The field that is wrong.
        code: A word for programs.
        kind: OpenAI's ``type``; None: what fits the status.
        headers: More headers.
    """

    def __init__(
        self,
        status: int,
        message: str,
        *,
        param: str | None = None,
        code: str | None = None,
        kind: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.param = param
        self.code = code
        self.kind = kind or (SERVER if status >= 500 else LIMIT if status == 429 else INVALID)
        self.headers = dict(headers or {})

    def body(self) -> bytes:
        """As JSON."""
        error = {"message": self.message, "type": self.kind, "param": self.param, "code": self.code}
        return msgspec.json.encode({"error": error})


def as_api_error(error: Exception, names: Mapping[str, str] = NO_NAMES, prompt: str | None = "prompt") -> ApiError:
    """What a client is told of an error.

    Args:
        error: Of the engine, or of ours.
        names: The client's names of fields that the engine calls otherwise.
        prompt: The field that holds the prompt.
    """
    if isinstance(error, ApiError):
        return error
    if isinstance(error, ParameterError):
        return parameter_error(error, names)
    if isinstance(error, SandboxBusyError):
        return ApiError(503, str(error), code="busy", headers={"retry-after": "1"})
    if isinstance(error, RequestFailedError):
        return ApiError(500, str(error), code="request_failed")
    if isinstance(error, RequestError):
        return ApiError(400, str(error), param=field_of(error, prompt))
    if isinstance(error, EngineDrainingError):
        return ApiError(503, str(error), code="draining", headers={"retry-after": "5"})
    if isinstance(error, EngineDeadError):
        return ApiError(503, str(error), code="engine_dead", headers={"retry-after": "5"})
    if isinstance(error, KerneletError):
        return ApiError(500, str(error))
    return ApiError(500, "an error inside the server, which its log tells", code="internal_error")


def field_of(error: RequestError, prompt: str | None) -> str | None:
    """The field that an error of the engine is about.

    Args:
        error: Of the engine.
        prompt: The field that holds the prompt.
    """
    if isinstance(error, ChatTemplateError) and (place := PLACE.match(str(error))):
        return place[0]
    return prompt if isinstance(error, PromptError | ChatTemplateError) else None


def parameter_error(error: ParameterError, names: Mapping[str, str]) -> ApiError:
    """With the name that the client used."""
    field, bracket, rest = error.parameter.partition("[")
    name = names.get(field, field)
    message = str(error)
    if name != field and message.startswith(field):
        message = name + message.removeprefix(field)
    return ApiError(400, message, param=name + bracket + rest)
