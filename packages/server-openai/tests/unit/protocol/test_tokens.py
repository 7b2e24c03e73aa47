from __future__ import annotations

import pytest

from kernelet_server_openai.protocol.base import read_fields
from kernelet_server_openai.protocol.errors import ApiError
from kernelet_server_openai.protocol.tokens import DetokenizeRequest, TokenizeRequest


def test_a_text_or_messages():
    read_fields(TokenizeRequest, b'{"prompt": ""}').check()
    read_fields(TokenizeRequest, b'{"messages": [{}]}').check()
    for body in (b"{}", b'{"prompt": "x", "messages": [{}]}'):
        with pytest.raises(ApiError, match="either prompt or messages"):
            read_fields(TokenizeRequest, body).check()


@pytest.mark.parametrize("body", [b"{}", b'{"tokens": 1}', b'{"tokens": ["a"]}', b'{"tokens": [1.5]}'])
def test_tokens_are_integers(body):
    with pytest.raises(ApiError) as caught:
        read_fields(DetokenizeRequest, body)
    assert caught.value.param == "tokens"
