"""``/v1/models``."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel


class ModelCard(BaseModel):
    """A name under which the model is served.

    Attributes:
        root: The model itself, as the operator named it.
    """

    id: str
    object: Literal["model"] = "model"
    created: int
    owned_by: str = "kernelet"
    root: str
    parent: None = None
    max_model_len: int


class ModelList(BaseModel):
    """All names."""

    object: Literal["list"] = "list"
    data: list[ModelCard]
