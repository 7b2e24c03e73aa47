"""The OpenAPI document. Bodies are read by the routes themselves, so their schemas are added here."""

from __future__ import annotations

from importlib import metadata
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from kernelet_server_openai.protocol.chat import ChatCompletionRequest
from kernelet_server_openai.protocol.completions import CompletionRequest
from kernelet_server_openai.protocol.embeddings import EmbeddingRequest
from kernelet_server_openai.protocol.errors import ErrorResponse
from kernelet_server_openai.protocol.pooling import PoolingRequest
from kernelet_server_openai.protocol.tokens import DetokenizeRequest, TokenizeRequest

BODIES: tuple[type[BaseModel], ...] = (
    ChatCompletionRequest,
    CompletionRequest,
    EmbeddingRequest,
    PoolingRequest,
    TokenizeRequest,
    DetokenizeRequest,
    ErrorResponse,
)


def document(app: FastAPI) -> dict[str, Any]:
    """The document of an application."""
    found = get_openapi(
        title="Kernelet", version=metadata.version("kernelet-server-openai"), routes=app.routes, openapi_version="3.1.0"
    )
    _, schemas = models_json_schema(
        [(body, "validation") for body in BODIES], ref_template="#/components/schemas/{model}"
    )
    known = found.setdefault("components", {}).setdefault("schemas", {})
    for name, schema in schemas["$defs"].items():
        known.setdefault(name, schema)
    return found
