"""``/v1/models``."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request

from kernelet_server_openai.protocol.models import ModelCard, ModelList
from kernelet_server_openai.serving.api import Api, api_of


def card(api: Api, name: str) -> ModelCard:
    """One name of the model."""
    model = api.engine.config.model
    return ModelCard(id=name, created=api.started, root=model.model, max_model_len=model.max_model_len)


def router() -> APIRouter:
    """The routes."""
    routes = APIRouter()

    @routes.get("/v1/models")
    async def list_models(request: Request) -> ModelList:
        """All names under which the model is served."""
        api = api_of(request)
        return ModelList(data=[card(api, name) for name in api.names.all])

    @routes.get("/v1/models/{name:path}")
    async def retrieve_model(request: Request, name: str) -> ModelCard:
        """One of them."""
        api = api_of(request)
        api.names.check(name)
        return card(api, name)

    return routes
