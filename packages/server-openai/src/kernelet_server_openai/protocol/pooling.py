"""``/pooling``: vectors for any use, or data for an IO processor."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel

from kernelet_server_openai.protocol.embeddings import EmbeddingUsage, Inputs, PoolingFields
from kernelet_server_openai.protocol.errors import ApiError


class PoolingRequest(PoolingFields):
    """``input`` for vectors, or ``data`` for an IO processor."""

    input: Inputs | None = None
    data: Any = None

    def check(self) -> None:
        """Exactly one of both is given.

        Raises:
            ApiError: 400.
        """
        both = self.input is not None and self.data is not None
        if both or (self.input is None and "data" not in self.model_fields_set):
            raise ApiError(
                400, "input: give either input (texts or token ids) or data (for an IO processor)", param="input"
            )


class Pooled(BaseModel):
    """One input's vector."""

    object: Literal["pooling"]
    index: int
    data: list[float] | str


class PoolingResponse(BaseModel):
    """All vectors, in the order of the inputs."""

    object: Literal["list"]
    id: str
    created: int
    model: str
    data: list[Pooled]
    usage: EmbeddingUsage


class IOProcessorResponse(BaseModel):
    """What an IO processor made of the data."""

    request_id: str
    created_at: int
    data: Any
