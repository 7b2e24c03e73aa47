"""Vectors of inputs."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

from starlette.types import Scope, Send

from kernelet.contracts.pooling import PoolingOutput, PoolingParams, PoolingRequestOutput
from kernelet_server_openai.protocol.completions import OnePrompt, split_prompts
from kernelet_server_openai.protocol.embeddings import Inputs, PoolingFields
from kernelet_server_openai.protocol.errors import as_api_error
from kernelet_server_openai.serving.api import Api, new_heading, with_salt
from kernelet_server_openai.serving.merging import together
from kernelet_server_openai.serving.sending import note, send_json

Outputs = Sequence[PoolingRequestOutput[PoolingOutput]]


async def encode_all(
    api: Api, prompts: Sequence[Any], params: PoolingParams, request_id: str, priority: int
) -> Outputs:
    """One vector a prompt, in order. Leaving early aborts what still runs.

    Raises:
        RequestError: one is wrong, or the model gives no vectors.
        EngineDeadError: the engine stopped.
    """
    many = len(prompts) > 1
    return await together(
        [
            api.engine.encode(prompt, params, f"{request_id}-{place}" if many else request_id, priority=priority)
            for place, prompt in enumerate(prompts)
        ]
    )


async def send_vectors(
    api: Api, scope: Scope, send: Send, request: PoolingFields, inputs: Inputs, kind: tuple[str, str, str]
) -> None:
    """Asks the engine and answers.

    Args:
        api: The server.
        scope: Of the request.
        send: To the client.
        request: What was asked for.
        inputs: Texts or token ids.
        kind: Prefix of the id, ``object`` of an entry, and the field of it that holds the vector.

    Raises:
        ApiError: before anything was sent.
    """
    prefix, word, field = kind
    heading = new_heading(api, prefix, request.request_id)
    found: list[OnePrompt] = split_prompts(inputs)
    prompts = [with_salt(prompt, request.cache_salt) for prompt in found]
    try:
        outputs = await encode_all(api, prompts, request.pooling_params(), heading.id, request.priority)
    except Exception as error:
        raise as_api_error(error, prompt="input") from error
    tokens = sum(len(output.prompt_token_ids) for output in outputs)
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    note(scope, usage=usage)
    data = [
        {"object": word, "index": index, field: vector(output, request.encoding_format)}
        for index, output in enumerate(outputs)
    ]
    await send_json(send, {**heading.fields("list"), "data": data, "usage": usage})


def vector(output: PoolingRequestOutput[PoolingOutput], encoding: str | None) -> list[float] | str:
    """Numbers, or little-endian float32 in base64."""
    if encoding == "base64":
        return base64.b64encode(output.outputs.data.astype("<f4").tobytes()).decode("ascii")
    return output.outputs.embedding
