"""``/tokenize`` and ``/detokenize``."""

from __future__ import annotations

from typing import ClassVar

from pydantic import BaseModel

from kernelet_server_openai.protocol.base import Fields, Off, On, TokenIds
from kernelet_server_openai.protocol.chat import Messages, TemplateFields
from kernelet_server_openai.protocol.errors import ApiError


class TokenizeRequest(TemplateFields):
    """A text, or messages."""

    model: str | None = None
    prompt: str | None = None
    messages: Messages | None = None  # type: ignore[assignment]
    add_special_tokens: On = True
    return_token_strs: Off = False

    def check(self) -> None:
        """Exactly one of both is given.

        Raises:
            ApiError: 400.
        """
        if (self.prompt is None) == (self.messages is None):
            raise ApiError(400, "prompt: give either prompt or messages", param="prompt")


class TokenizeResponse(BaseModel):
    """Token ids."""

    count: int
    max_model_len: int
    tokens: list[int]
    token_strs: list[str] | None = None


class DetokenizeRequest(Fields):
    """Token ids of one text."""

    LISTED: ClassVar[frozenset[str]] = frozenset({"tokens"})

    model: str | None = None
    tokens: TokenIds
    skip_special_tokens: Off = False


class DetokenizeResponse(BaseModel):
    """Their text."""

    prompt: str
