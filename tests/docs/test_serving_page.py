"""docs/serving.md knows every route, field and flag of the OpenAI server."""

from __future__ import annotations

import re

import pytest
from workspace import ROOT

from kernelet_server_openai.plugin import FLAGS, kernelet_servers
from kernelet_server_openai.protocol.chat import ChatCompletionRequest
from kernelet_server_openai.protocol.completions import CompletionRequest
from kernelet_server_openai.protocol.embeddings import EmbeddingRequest
from kernelet_server_openai.protocol.pooling import PoolingRequest
from kernelet_server_openai.protocol.responses import ResponsesRequest

PAGE = (ROOT / "docs/serving.md").read_text(encoding="utf-8")
WORDS = set(re.findall(r"`([^`]+)`", PAGE))
ROUTES = {part.removeprefix("/").split("?")[0] for text in WORDS for part in text.split() if part.startswith("/")}
NOT_SAID = {"model"}


@pytest.mark.parametrize(
    "body", [ChatCompletionRequest, CompletionRequest, EmbeddingRequest, PoolingRequest, ResponsesRequest]
)
def test_every_field_is_there(body):
    assert not set(body.model_fields) - WORDS - NOT_SAID


def test_every_flag_is_there():
    assert not {f"--{flag}" for flag in FLAGS} - WORDS


def test_every_route_is_there():
    (offer,) = kernelet_servers()
    assert not set(offer.paths) - {route.split("/")[0] for route in ROUTES}
