"""Answers to completions, whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from starlette.types import Scope, Send

from kernelet.request.outputs import CompletionOutput, RequestOutput
from kernelet_server_openai.protocol.completions import CompletionRequest, OnePrompt
from kernelet_server_openai.protocol.errors import as_api_error
from kernelet_server_openai.protocol.sampling import check_logprobs
from kernelet_server_openai.serving.api import Api, Heading, new_heading, with_salt
from kernelet_server_openai.serving.completion_stream import CompletionChunks
from kernelet_server_openai.serving.echo import Echo
from kernelet_server_openai.serving.finish import ending
from kernelet_server_openai.serving.generating import Job, final_outputs, stream_outputs
from kernelet_server_openai.serving.handover import handed_over
from kernelet_server_openai.serving.logprobs import prompt_logprobs
from kernelet_server_openai.serving.sending import note, send_json
from kernelet_server_openai.serving.usage import count_usage


class CompletionAnswer:
    """One request with all its prompts.

    Args:
        api: The server.
        scope: Of the request.
        request: Its body.

    Raises:
        ApiError: something is wrong that can be told without the engine.
    """

    def __init__(self, api: Api, scope: Scope, request: CompletionRequest) -> None:
        self._api = api
        self._scope = scope
        self._request = request
        request.check_refused()
        request.check_stream_options()
        limit = api.settings.max_logprobs
        check_logprobs("logprobs", request.logprobs, limit)
        check_logprobs("prompt_logprobs", request.prompt_logprobs, limit)
        self._params = request.sampling_params(
            max_tokens=request.max_tokens, logprobs=request.logprobs, structured=request.structured()
        )
        self._heading = new_heading(api, "cmpl", request.request_id)
        self._prompts = request.prompts

    async def send(self, send: Send) -> None:
        """Asks the engine and answers.

        Raises:
            ApiError: before anything was sent.
        """
        try:
            await self._answer(send)
        except Exception as error:
            raise as_api_error(error, {"structured_outputs": self._request.structured_field}) from error

    async def _answer(self, send: Send) -> None:
        request, engine = self._request, self._api.engine
        echo = Echo(request, engine.get_tokenizer())
        jobs = [self._job(place, prompt, echo) for place, prompt in enumerate(self._prompts)]
        if request.stream:
            chunks = CompletionChunks(self._heading, request, echo, len(jobs))
            return await stream_outputs(send, engine, jobs, chunks, self._scope)
        content = completion(self._heading, request, await final_outputs(engine, jobs), echo)
        note(self._scope, usage=content["usage"])
        await send_json(send, content)
        return None

    def _job(self, place: int, prompt: OnePrompt, echo: Echo) -> Job:
        many = len(self._prompts) > 1
        return Job(
            prompt=self._as_asked(prompt),
            params=echo.params(self._params),
            request_id=f"{self._heading.id}-{place}" if many else self._heading.id,
            priority=self._request.priority,
        )

    def _as_asked(self, prompt: OnePrompt) -> object:
        adds = self._request.add_special_tokens or not isinstance(prompt, str)
        found = with_salt(prompt, self._request.cache_salt)
        if self._request.kv_transfer_params is not None:
            found = {**found, "kv_transfer_params": self._request.kv_transfer_params}
        return found if adds else {**found, "add_special_tokens": False}


def completion(
    heading: Heading, request: CompletionRequest, outputs: Sequence[RequestOutput], echo: Echo
) -> dict[str, Any]:
    """The answer's body."""
    choices = [
        completion_choice(request, output, choice, echo, index * (request.n or 1) + choice.index)
        for index, output in enumerate(outputs)
        for choice in output.outputs
    ]
    content = {**heading.fields("text_completion"), "choices": choices, "usage": count_usage(outputs)}
    return content | handed_over(outputs)


def completion_choice(
    request: CompletionRequest, output: RequestOutput, choice: CompletionOutput, echo: Echo, index: int
) -> dict[str, Any]:
    """One answer to one prompt."""
    found: dict[str, Any] = {
        "index": index,
        "text": echo.text(output) + choice.text,
        "logprobs": None,
        "finish_reason": choice.finish_reason,
    } | ending(choice)
    if request.logprobs is not None:
        positions = [*echo.positions(output), *(choice.logprobs or ())]
        ids = [*echo.token_ids(output), *choice.token_ids]
        found["logprobs"] = echo.writer().write(positions, ids, echo.texts(positions, ids))
    if request.prompt_logprobs is not None and choice.index == 0:
        found["prompt_logprobs"] = prompt_logprobs(output.prompt_logprobs)
    if request.return_token_ids:
        found["token_ids"] = choice.token_ids
        found["prompt_token_ids"] = output.prompt_token_ids
    return found
