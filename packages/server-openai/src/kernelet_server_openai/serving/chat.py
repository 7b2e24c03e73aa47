"""Answers to chats, whole."""

from __future__ import annotations

from typing import Any

from starlette.types import Scope, Send

from kernelet.request.outputs import CompletionOutput, RequestOutput
from kernelet_server_openai.protocol.chat import ChatCompletionRequest
from kernelet_server_openai.protocol.errors import as_api_error
from kernelet_server_openai.protocol.sampling import check_logprobs
from kernelet_server_openai.protocol.structured import check_one_form
from kernelet_server_openai.serving.api import Api, Heading, new_heading
from kernelet_server_openai.serving.chat_message import chat_message
from kernelet_server_openai.serving.chat_prompt import chat_prompt
from kernelet_server_openai.serving.chat_stream import ChatChunks
from kernelet_server_openai.serving.finish import ending, finish_reason
from kernelet_server_openai.serving.generating import Job, final_output, stream_outputs
from kernelet_server_openai.serving.handover import handed_over, with_facts
from kernelet_server_openai.serving.logprobs import chat_logprobs, prompt_logprobs
from kernelet_server_openai.serving.sending import note, send_json
from kernelet_server_openai.serving.usage import count_usage


class ChatAnswer:
    """One chat.

    Args:
        api: The server.
        scope: Of the request.
        request: Its body.

    Raises:
        ApiError: something is wrong that can be told without the engine.
    """

    def __init__(self, api: Api, scope: Scope, request: ChatCompletionRequest) -> None:
        self._api = api
        self._scope = scope
        self._request = request
        request.check_refused()
        request.check_stream_options()
        limit = api.settings.max_logprobs
        check_logprobs("top_logprobs", request.num_logprobs, limit)
        check_logprobs("prompt_logprobs", request.prompt_logprobs, limit)
        structured = request.structured()
        self._params = request.sampling_params(
            max_tokens=request.output_limit, logprobs=request.num_logprobs, structured=structured
        )
        self._use = request.tool_use(api.engine.parsers)
        check_one_form(structured, calls=self._use.must_call)
        self._messages = request.conversation()
        self._heading = new_heading(api, "chatcmpl", request.request_id)
        self._before = echoed(request)

    async def send(self, send: Send) -> None:
        """Asks the engine and answers.

        Raises:
            ApiError: before anything was sent.
        """
        try:
            await self._answer(send)
        except Exception as error:
            raise as_api_error(error, self._request.names, "messages") from error

    async def _answer(self, send: Send) -> None:
        request, template = self._request, self._request.template() | self._use.template()
        prompt = await chat_prompt(self._api.engine, self._messages, template)
        prompt = with_facts(prompt, request.cache_salt, request.kv_transfer_params)
        job = Job(prompt=prompt, params=self._params, request_id=self._heading.id, priority=request.priority)
        if request.stream:
            chunks = ChatChunks(self._heading, request, self._before)
            return await stream_outputs(send, self._api.engine, (job,), chunks, self._scope)
        output = await final_output(self._api.engine, job)
        content = chat_completion(self._heading, request, output, self._before)
        note(self._scope, usage=content["usage"])
        await send_json(send, content)
        return None


def echoed(request: ChatCompletionRequest) -> str:
    """``echo``: an assistant's last message that the answer begins with."""
    last = request.messages[-1]
    content = last.get("content")
    return content if request.echo and last.get("role") == "assistant" and isinstance(content, str) else ""


def chat_completion(
    heading: Heading, request: ChatCompletionRequest, output: RequestOutput, before: str
) -> dict[str, Any]:
    """The answer's body."""
    content = {
        **heading.fields("chat.completion"),
        "choices": [chat_choice(request, choice, before) for choice in output.outputs],
        "usage": count_usage((output,)),
    }
    if output.prompt_logprobs is not None:
        content["prompt_logprobs"] = prompt_logprobs(output.prompt_logprobs)
    if request.return_token_ids:
        content["prompt_token_ids"] = output.prompt_token_ids
    return content | handed_over((output,))


def chat_choice(request: ChatCompletionRequest, choice: CompletionOutput, before: str) -> dict[str, Any]:
    """One of ``n`` answers."""
    count = request.num_logprobs
    logprobs = None
    if count is not None and choice.logprobs is not None:
        logprobs = chat_logprobs(choice.logprobs, count, as_ids=request.return_tokens_as_token_ids)
    message = {"role": "assistant", "content": before + choice.text, "refusal": None}
    found: dict[str, Any] = {
        "index": choice.index,
        "message": message if choice.message is None else chat_message(request, choice.message, before),
        "logprobs": logprobs,
        "finish_reason": finish_reason(choice),
    } | ending(choice)
    if request.return_token_ids:
        found["token_ids"] = choice.token_ids
    return found
