"""``/v1/embeddings``."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, Field

from kernelet.contracts.pooling import PoolingParams
from kernelet_server_openai.protocol.base import Fields, Name, Salt, Texts, TokenIds, Zero

MAX_INPUTS = 2048
"""Inputs of one request, as in OpenAI's API."""

Inputs = Annotated[
    str
    | TokenIds
    | Annotated[Texts, Field(max_length=MAX_INPUTS)]
    | Annotated[list[TokenIds], Field(fail_fast=True, max_length=MAX_INPUTS)],
    Field(union_mode="left_to_right"),
]


class PoolingFields(Fields):
    """How inputs become vectors."""

    LISTED: ClassVar[frozenset[str]] = frozenset({"input"})

    model: str | None = None
    encoding_format: Literal["float", "base64"] | None = None
    dimensions: int | None = None
    pooling: str | None = None
    normalize: bool | None = None
    priority: Zero = 0
    cache_salt: Salt | None = None
    request_id: Name | None = None
    user: str | None = None

    @property
    def asks_for_pooling(self) -> bool:
        """Whether any of the engine's parameters was given."""
        return any(one is not None for one in (self.pooling, self.normalize, self.dimensions))

    def pooling_params(self) -> PoolingParams:
        """What the engine takes; it checks all values."""
        return PoolingParams(pooling=self.pooling, normalize=self.normalize, dimensions=self.dimensions)


class EmbeddingRequest(PoolingFields):
    """Texts to embed."""

    input: Inputs


class EmbeddingUsage(BaseModel):
    """Tokens of all inputs."""

    prompt_tokens: int
    total_tokens: int


class Embedding(BaseModel):
    """One input's vector: numbers, or little-endian float32 in base64."""

    object: Literal["embedding"]
    index: int
    embedding: list[float] | str


class EmbeddingResponse(BaseModel):
    """All vectors, in the order of the inputs."""

    object: Literal["list"]
    id: str
    created: int
    model: str
    data: list[Embedding]
    usage: EmbeddingUsage
