"""What the handlers of one server share."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field

from starlette.requests import Request

from kernelet.contracts.serving import EngineClient, ServerContext
from kernelet_server_openai.serving.large import LargeWork
from kernelet_server_openai.serving.names import ServedNames
from kernelet_server_openai.serving.responses_store import ResponseStore
from kernelet_server_openai.settings import ServerSettings


@dataclass(frozen=True, kw_only=True)
class Api:
    """An engine and how it is served.

    Attributes:
        responses: What ``/v1/responses`` keeps.
        background: Its responses that run while nobody waits.
        large: Runs what would hold up the event loop.
    """

    context: ServerContext
    settings: ServerSettings
    names: ServedNames
    responses: ResponseStore
    background: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    large: LargeWork = field(default_factory=LargeWork)
    started: int = field(default_factory=lambda: int(time.time()))

    @property
    def engine(self) -> EngineClient:
        """The engine."""
        return self.context.engine


@dataclass(frozen=True, kw_only=True)
class Heading:
    """What every answer to a request begins with."""

    id: str
    created: int
    model: str

    def fields(self, kind: str) -> dict[str, object]:
        """For an ``object`` of a kind."""
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}


def api_of(request: Request) -> Api:
    """The server that a request came to."""
    found = request.app.state.api
    assert isinstance(found, Api)
    return found


def new_heading(api: Api, prefix: str, request_id: str | None) -> Heading:
    """Names a request; the client may have named it."""
    name = f"{prefix}-{uuid.uuid4().hex if request_id is None else request_id}"
    return Heading(id=name, created=int(time.time()), model=api.names.shown)


def with_salt(prompt: object, salt: str | None) -> Mapping[str, object]:
    """A prompt of ours as the engine takes it."""
    key = "prompt" if isinstance(prompt, str) else "prompt_token_ids"
    return {key: prompt} if salt is None else {key: prompt, "cache_salt": salt}
