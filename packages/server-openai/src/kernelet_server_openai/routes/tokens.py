"""``/tokenize`` and ``/detokenize``."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Send

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
from kernelet_server_openai.serving.sending import send_json


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
            prompt = await api.engine.chat_prompt(body.messages, **body.template())
            text, adds = prompt.text, prompt.add_special_tokens
        tokenizer = tokenizer_of(api)
        tokens = await asyncio.to_thread(partial(tokenizer.encode, text or "", add_special_tokens=adds))
    except Exception as error:
        raise as_api_error(error, prompt="prompt" if body.messages is None else "messages") from error
    content: dict[str, Any] = {
        "count": len(tokens),
        "max_model_len": api.engine.config.model.max_model_len,
        "tokens": tokens,
    }
    if body.return_token_strs:
        content["token_strs"] = [tokenizer.id_to_token(index) for index in tokens]
    await send_json(send, content)


async def detokenize(api: Api, body: DetokenizeRequest, send: Send) -> None:
    """Sends the text of tokens."""
    tokenizer, skips = tokenizer_of(api), body.skip_special_tokens
    try:
        ids = check_prompt_token_ids(body.tokens, api.engine.config.model.vocab_size) if body.tokens else []
    except Exception as error:
        raise as_api_error(error, prompt="tokens") from error
    text = await asyncio.to_thread(partial(tokenizer.decode, ids, skip_special_tokens=skips))
    await send_json(send, {"prompt": text})


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
