"""``/kv_event_sources``: where routers hear of what is cached here; as in vLLM."""

from __future__ import annotations

import dataclasses
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request

from kernelet_server_openai.serving.api import api_of

RANK = "0"


def router() -> APIRouter:
    """The routes."""
    routes = APIRouter()

    @routes.get("/kv_event_sources")
    async def kv_event_sources(request: Request) -> dict[str, dict[str, Any]]:
        """By number of the engine, the options of its publisher; empty: nothing is published."""
        config = api_of(request).engine.config.kv_events
        return {RANK: {**dataclasses.asdict(config), "publisher": "zmq"}} if config.enable_kv_cache_events else {}

    return routes
