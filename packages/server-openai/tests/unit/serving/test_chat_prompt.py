from __future__ import annotations

import asyncio

import pytest
from asgi_calls import post
from scripted_engine import ScriptedEngine

from kernelet.engine.prompts import ParsedPrompt
from kernelet.errors import (
    ChatTemplateError,
    KerneletError,
    PromptError,
    SandboxBusyError,
    SandboxMemoryError,
    SandboxTimeoutError,
)
from kernelet_server_openai.protocol.errors import ApiError
from kernelet_server_openai.serving.chat_prompt import chat_prompt

MESSAGES = [{"role": "user", "content": "x"}]


class Templates(ScriptedEngine):
    """Renders what it was told to."""

    def __init__(self, made):
        super().__init__()
        self.made = made

    async def chat_prompt(self, messages, **template):
        if isinstance(self.made, Exception):
            raise self.made
        return ParsedPrompt(text=self.made, add_special_tokens=False)


def made_of(made, **template):
    return asyncio.run(chat_prompt(Templates(made), MESSAGES, template))


FAULTS = [
    ChatTemplateError("the chat template is not valid Jinja (line 1): x: correct it, or name another template"),
    ChatTemplateError("the chat template failed: SecurityError: unsafe"),
    ChatTemplateError("the chat template does not compile: RecursionError: x"),
    SandboxTimeoutError("the chat template took longer than 5 s and was stopped"),
    SandboxMemoryError("the chat template needs more memory than it may have and was stopped"),
]


@pytest.mark.parametrize("error", FAULTS, ids=str)
def test_faults_of_a_template_that_the_request_gives(error):
    with pytest.raises(ApiError) as caught:
        made_of(error, chat_template="t")
    assert (caught.value.status, caught.value.param, caught.value.message) == (400, "chat_template", str(error))
    with pytest.raises(type(error)):
        made_of(error)


@pytest.mark.parametrize(
    "error",
    [
        ChatTemplateError("the chat template refused the messages: two of the user"),
        ChatTemplateError("chat_template_kwargs.x is set by a parameter of its own: use that"),
        ChatTemplateError("messages[0].role should be a string"),
        PromptError("the prompt is too long"),
        SandboxBusyError("the chat template: 9 others are being worked on: try again later"),
        KerneletError("broken"),
    ],
    ids=str,
)
def test_other_errors_stay_what_they_are(error):
    with pytest.raises(type(error)):
        made_of(error, chat_template="t")


def test_an_empty_prompt():
    assert made_of("").text == ""
    assert made_of("a", chat_template="t").text == "a"
    with pytest.raises(ApiError, match="empty") as caught:
        made_of("", chat_template="")
    assert caught.value.param == "chat_template"


@pytest.mark.parametrize(
    "path, field", [("/v1/chat/completions", "messages"), ("/v1/responses", "input"), ("/tokenize", "messages")]
)
def test_every_route_names_the_template(make_app, path, field):
    body = {field: MESSAGES, "chat_template": "{{"}
    for error in (FAULTS[0], FAULTS[-1]):
        reply = post(make_app(Templates(error)), path, body)
        assert (reply.status, reply.error["param"]) == (400, "chat_template")
    reply = post(make_app(Templates(FAULTS[1])), path, {field: MESSAGES})
    assert (reply.status, reply.error["param"]) == (400, field)
