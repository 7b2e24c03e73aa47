"""LangChain's own tests, pointed at the server."""

from __future__ import annotations

import os

from langchain_openai import ChatOpenAI
from langchain_tests.integration_tests import ChatModelIntegrationTests


class TestChatModel(ChatModelIntegrationTests):
    """What needs a grammar is refused by the server until a package for it is installed, so it is skipped; so is what
    needs a model that calls tools, which the demo model does not.
    """

    @property
    def chat_model_class(self) -> type[ChatOpenAI]:
        return ChatOpenAI

    @property
    def chat_model_params(self) -> dict:
        return {
            "model": os.environ["KERNELET_CLIENT_MODEL"],
            "base_url": os.environ["KERNELET_CLIENT_URL"] + "/v1",
            "api_key": "none",
            "temperature": 0,
            "max_tokens": 32,
            "stream_usage": True,
        }

    @property
    def has_tool_calling(self) -> bool:
        return False

    @property
    def has_structured_output(self) -> bool:
        return False

    @property
    def supports_json_mode(self) -> bool:
        return False
