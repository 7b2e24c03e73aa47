from __future__ import annotations

from kernelet_server_openai.protocol.chat import ChatCompletion, ChatCompletionRequest
from kernelet_server_openai.routes.handlers import described


def test_what_the_document_says_of_a_route():
    found = described(ChatCompletionRequest, ChatCompletion, streams=True, errors=(400, 413))
    assert set(found["responses"]) == {200, 400, 401, 413, 429, 503}
    assert "text/event-stream" in found["responses"][200]["content"]
    content = found["openapi_extra"]["requestBody"]["content"]["application/json"]
    assert content["schema"] == {"$ref": "#/components/schemas/ChatCompletionRequest"}


def test_a_route_without_a_body():
    assert "openapi_extra" not in described(None, ChatCompletion)
