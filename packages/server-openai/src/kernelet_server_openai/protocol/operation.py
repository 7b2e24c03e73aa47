"""Probes, ``/version``, ``/plugins`` and the admin routes."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel


class Health(BaseModel):
    """How the engine does.

    Attributes:
        status: "starting", "ready", "stalled", "dead", "draining" or "asleep".
        age: Seconds since it last showed progress.
    """

    status: str
    detail: str = ""
    age: float = 0.0


class Live(BaseModel):
    """The process answers."""

    status: str


class Version(BaseModel):
    """The core's version."""

    version: str


class Plugins(BaseModel):
    """What runs here, and how every layer is computed."""

    model_config = {"extra": "allow"}

    plugins: Any = None


class Sleeping(BaseModel):
    """Whether the engine sleeps."""

    is_sleeping: bool


class Done(BaseModel):
    """It is done."""

    status: str
