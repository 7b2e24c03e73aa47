"""Answers of ``/v1/responses``: whole, streamed, or in the background; kept for the next turn."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import aclosing
from typing import Any

from starlette.types import Scope, Send

from kernelet.request.outputs import RequestOutput
from kernelet_server_openai.protocol.errors import ApiError, as_api_error
from kernelet_server_openai.protocol.responses import ResponsesRequest
from kernelet_server_openai.protocol.sampling import check_logprobs
from kernelet_server_openai.protocol.structured import check_one_form
from kernelet_server_openai.serving.api import Api
from kernelet_server_openai.serving.chat_prompt import chat_prompt
from kernelet_server_openai.serving.generating import Job, final_output
from kernelet_server_openai.serving.handover import with_facts
from kernelet_server_openai.serving.responses_events import ResponseEvents
from kernelet_server_openai.serving.responses_input import Messages, answered, input_messages
from kernelet_server_openai.serving.responses_items import message_of
from kernelet_server_openai.serving.responses_object import ResponseHead, status_of
from kernelet_server_openai.serving.responses_store import Kept, Owner
from kernelet_server_openai.serving.sending import note, send_json, send_part, start_stream

logger = logging.getLogger(__name__)


class ResponseAnswer:
    """One response.

    Args:
        api: The server.
        scope: Of the request.
        request: Its body.

    Raises:
        ApiError: something is wrong that can be told without the engine.
    """

    def __init__(self, api: Api, scope: Scope, request: ResponsesRequest) -> None:
        self._api = api
        self._scope = scope
        self._request = request
        self._owner = owner_of(scope)
        request.check_refused()
        check_logprobs("top_logprobs", request.num_logprobs, api.settings.max_logprobs)
        store = api.responses
        for field in ("store", "background", "previous_response_id"):
            if getattr(request, field):
                store.check(field)
        if request.background and request.store is False:
            raise ApiError(400, "background: such a response must be kept: leave store out", param="store")
        self._params = request.sampling_params()
        use = request.tool_use(api.engine.parsers)
        check_one_form(self._params.structured_outputs, calls=use.must_call)
        self.head = ResponseHead(
            request=request,
            model=api.names.shown,
            store=store.keeps and request.store is not False,
            use=use,
        )
        self._messages = [*self._before(), *input_messages(request.input)]

    @property
    def names(self) -> Mapping[str, str]:
        """The client's names of the engine's fields."""
        return self._request.names

    def _before(self) -> Messages:
        """The conversation that is gone on with."""
        name = self._request.previous_response_id
        if name is None:
            return []
        kept = self._api.responses.get(name, self._owner)
        if kept is None:
            raise ApiError(
                400,
                f"previous_response_id: there is no response {name[:100]!r}: it was not stored, or has been forgotten",
                param="previous_response_id",
                code="previous_response_not_found",
            )
        if kept.response["status"] not in {"completed", "incomplete"}:
            status = kept.response["status"]
            raise ApiError(
                400, f"previous_response_id: that response is {status}: wait for it", param="previous_response_id"
            )
        return kept.messages

    async def send(self, send: Send) -> None:
        """Asks the engine and answers.

        Raises:
            ApiError: before anything was sent.
        """
        try:
            job = await self.job()
            if self._request.stream:
                return await self._stream(send, job)
            output = await final_output(self._api.engine, job)
        except Exception as error:
            raise as_api_error(error, self.names, "input") from error
        done = self.head.object(status_of(output), output=output)
        self.keep(done, output)
        note(self._scope, usage=done["usage"])
        await send_json(send, done)
        return None

    async def job(self) -> Job:
        """The request to the engine."""
        request, template = self._request, self._request.template() | self.head.use.template()
        system = [] if request.instructions is None else [{"role": "system", "content": request.instructions}]
        prompt = await chat_prompt(self._api.engine, [*system, *self._messages], template)
        prompt = with_facts(prompt, request.cache_salt, request.kv_transfer_params)
        return Job(prompt=prompt, params=self._params, request_id=self.head.id, priority=request.priority)

    def keep(self, response: dict[str, Any], output: RequestOutput | None) -> None:
        """Keeps the response as it stands, if it is to be."""
        if self.head.store:
            said: Messages = []
            if output is not None:
                said = [answered(message_of(output.outputs[0]), only_first=self.head.use.only_first)]
            kept = Kept(response=response, messages=[*self._messages, *said])
            self._api.responses.put(self.head.id, self._owner, kept)

    async def _stream(self, send: Send, job: Job) -> None:
        """Sends events as outputs come; the answer starts with the first one."""
        events, output = ResponseEvents(self.head), None
        try:
            async with aclosing(job.run(self._api.engine)) as outputs:
                async for found in outputs:
                    begin = b""
                    if output is None:
                        await start_stream(send)
                        begin = events.begin()
                    output = found
                    if part := begin + events.write(found):
                        await send_part(send, part)
            assert output is not None
            last, done = events.end(output)
        except Exception as error:
            if output is None:
                raise
            problem = as_api_error(error)
            if problem.code == "internal_error":
                logger.exception("a stream failed")
            last, done = events.fail(problem, output)
            note(self._scope, error=problem.message)
        self.keep(done, output)
        note(self._scope, usage=done["usage"])
        await send_part(send, last, last=True)


def owner_of(scope: Scope) -> Owner:
    """The API key that a request came with: responses are its own."""
    key: Owner = scope.get("state", {}).get("key")
    return key
