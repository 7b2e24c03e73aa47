"""``/tokenize`` and ``/detokenize``."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Send

from kernelet.errors import PromptError
from kernelet.request.prompts import check_prompt_token_ids
from kernelet.text.tokenizer import Tokenizer
from kernelet_server_openai.protocol.errors import ApiError, as_api_error
from kernelet_server_openai.protocol.tokens import (
    DetokenizeRequest,
    DetokenizeResponse,
    TokenizeRequest,
    TokenizeResponse,
)
from kernelet_server_openai.routes.handlers import answer, described
from kernelet_server_openai.serving.api import Api, api_of
from kernelet_server_openai.serving.body import read_request
from kernelet_server_openai.serving.chat_prompt import chat_prompt
from kernelet_server_openai.serving.sending import ENCODER, send_body

MAX_LETTERS: Final = 2**20
"""Of a text that is tokenized at once; contexts that hold more may be given more."""
LETTERS_A_TOKEN: Final = 16
"""More than tokens have, but for rules and runs of spaces."""


def tokenizer_of(api: Api) -> Tokenizer:
    """The model's tokenizer.

    Raises:
        ApiError: 400: it has none.
    """
    found = api.engine.get_tokenizer()
    if found is None:
        raise ApiError(400, f"{api.names.shown} has no tokenizer: there is no text, only token ids")
    return found


async def tokenize(api: Api, body: TokenizeRequest, send: Send) -> None:
    """Sends the tokens of a text, or of messages."""
    try:
        text, adds = body.prompt, body.add_special_tokens
        if body.messages is not None:
            template = body.template() | body.tool_use(None).template()
            prompt = await chat_prompt(api.engine, body.conversation(), template)
            text, adds = prompt.text, prompt.add_special_tokens
        tokenizer, text = tokenizer_of(api), text or ""
        check_length(text, api.engine.config.model.max_model_len)
        encode = partial(encoded, api, tokenizer, text, adds=adds, strings=body.return_token_strs)
        content = await api.large.run_aside(len(text), encode)
    except Exception as error:
        raise as_api_error(error, prompt="prompt" if body.messages is None else "messages") from error
    await send_body(send, content)


def check_length(text: str, context: int) -> None:
    """Tokens take a hundred times the memory of their text.

    Raises:
        PromptError: it has too many.
    """
    most = max(MAX_LETTERS, context * LETTERS_A_TOKEN)
    if len(text) > most:
        raise PromptError(
            f"the text has {len(text)} characters, {most} at most are tokenized at once, which is far more than a "
            f"context of {context} tokens holds: send it in pieces"
        )


def encoded(api: Api, tokenizer: Tokenizer, text: str, *, adds: bool, strings: bool) -> bytes:
    """The answer's body."""
    tokens = tokenizer.encode(text, add_special_tokens=adds)
    content: dict[str, Any] = {
        "count": len(tokens),
        "max_model_len": api.engine.config.model.max_model_len,
        "tokens": tokens,
    }
    if strings:
        content["token_strs"] = [tokenizer.id_to_token(index) for index in tokens]
    return ENCODER.encode(content)


async def detokenize(api: Api, body: DetokenizeRequest, send: Send) -> None:
    """Sends the text of tokens."""
    decode = partial(decoded, api, tokenizer_of(api), body.tokens, skips=body.skip_special_tokens)
    try:
        content = await api.large.run_aside(len(body.tokens), decode)
    except Exception as error:
        raise as_api_error(error, prompt="tokens") from error
    await send_body(send, content)


def decoded(api: Api, tokenizer: Tokenizer, tokens: list[int], *, skips: bool) -> bytes:
    """The answer's body."""
    ids = check_prompt_token_ids(tokens, api.engine.config.model.vocab_size) if tokens else []
    return ENCODER.encode({"prompt": tokenizer.decode(ids, skip_special_tokens=skips)})


def router() -> APIRouter:
    """The routes."""
    routes = APIRouter()

    @routes.post("/tokenize", **described(TokenizeRequest, TokenizeResponse, errors=(400, 404, 413, 415)))
    async def create_tokens(request: Request) -> Response:
        """Token ids of a text, or of messages."""
        body = await read_request(request, TokenizeRequest)
        body.check_refused()
        body.check()
        return answer(request, partial(tokenize, api_of(request), body))

    @routes.post("/detokenize", **described(DetokenizeRequest, DetokenizeResponse, errors=(400, 404, 413, 415)))
    async def create_text(request: Request) -> Response:
        """The text of token ids."""
        body = await read_request(request, DetokenizeRequest)
        return answer(request, partial(detokenize, api_of(request), body))

    return routes
