"""The OpenAPI document. Routes read and write bodies themselves, so the schemas of those are added here."""

from __future__ import annotations

from importlib import metadata
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from kernelet_server_openai.protocol.chat import ChatCompletion, ChatCompletionRequest
from kernelet_server_openai.protocol.completions import Completion, CompletionRequest
from kernelet_server_openai.protocol.embeddings import EmbeddingRequest, EmbeddingResponse
from kernelet_server_openai.protocol.errors import ErrorResponse
from kernelet_server_openai.protocol.operation import Plugins
from kernelet_server_openai.protocol.pooling import PoolingRequest, PoolingResponse
from kernelet_server_openai.protocol.responses import DeletedResponse, ResponseObject, ResponsesRequest
from kernelet_server_openai.protocol.tokens import (
    DetokenizeRequest,
    DetokenizeResponse,
    TokenizeRequest,
    TokenizeResponse,
)

MODELS: tuple[type[BaseModel], ...] = (
    ChatCompletion,
    ChatCompletionRequest,
    Completion,
    CompletionRequest,
    DeletedResponse,
    DetokenizeRequest,
    DetokenizeResponse,
    EmbeddingRequest,
    EmbeddingResponse,
    ErrorResponse,
    Plugins,
    PoolingRequest,
    PoolingResponse,
    ResponseObject,
    ResponsesRequest,
    TokenizeRequest,
    TokenizeResponse,
)
"""Bodies of requests and answers that the routes read and write themselves."""


def document(app: FastAPI) -> dict[str, Any]:
    """The document of an application."""
    found = get_openapi(
        title="Kernelet", version=metadata.version("kernelet-server-openai"), routes=app.routes, openapi_version="3.1.0"
    )
    _, schemas = models_json_schema(
        [(model, "validation") for model in MODELS], ref_template="#/components/schemas/{model}"
    )
    known = found.setdefault("components", {}).setdefault("schemas", {})
    for name, schema in schemas["$defs"].items():
        known.setdefault(name, schema)
    return found
