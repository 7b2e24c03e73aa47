"""The suites of the test kit, on this package."""

from __future__ import annotations

import json

import pytest

from kernelet.contracts.serving import ServerOffer
from kernelet.testing.offered import Offered, find_offer
from kernelet.testing.package import PackageSuite
from kernelet.testing.server import Call, ServerCapabilities, ServerSuite

__all__ = ["TestOpenAI", "TestPackage"]

PLUGIN = "kernelet_server_openai.plugin"


def generate(tokens: int) -> Call:
    """A stream of so many tokens."""
    body = {"model": "null", "prompt": "x", "max_tokens": tokens, "ignore_eos": True, "stream": True}
    headers = {"content-type": "application/json"}
    return Call(method="POST", path="/v1/completions", body=json.dumps(body).encode(), headers=headers)


class TestPackage(PackageSuite):
    @pytest.fixture
    def distribution(self) -> str:
        return "kernelet-server-openai"


class TestOpenAI(ServerSuite):
    capabilities = ServerCapabilities(generate=generate)

    @pytest.fixture
    def offered(self) -> Offered[ServerOffer]:
        return find_offer(PLUGIN, ServerOffer, "openai", access_log="off")
