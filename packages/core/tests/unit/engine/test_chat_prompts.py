from __future__ import annotations

import asyncio
import contextlib

import pytest

from kernelet.engine import chat_prompts
from kernelet.engine.chat_prompts import ChatPrompts
from kernelet.engine.sandbox.pool import Sandbox
from kernelet.errors import (
    ChatTemplateError,
    ParameterError,
    RequestError,
    SandboxError,
    SandboxMemoryError,
    SandboxTimeoutError,
)
from kernelet.text.chat_template import ChatTemplate

MESSAGES = [{"role": "user", "content": "hi"}]
OWN = {"default": "own {{ messages[0].content }}", "other": "other {{ messages[0].content }}"}


@pytest.fixture(scope="module")
def sandbox():
    sandbox = Sandbox(num_helpers=1, memory_bytes=64 << 20)
    yield sandbox
    sandbox.close()


@pytest.fixture(scope="module")
def chats(sandbox):
    return ChatPrompts("m", ChatTemplate(OWN, {"bos_token": "<s>"}), sandbox)


@pytest.fixture(params=["sync", "async"])
def prompt(request, chats):
    """Both ways to a prompt."""
    if request.param == "sync":
        return chats.prompt
    return lambda *arguments, **options: asyncio.run(chats.prompt_async(*arguments, **options))


def test_the_models_templates_need_no_helper():
    closed = Sandbox()
    closed.close()
    chats = ChatPrompts("m", ChatTemplate(OWN, {}), closed)
    assert chats.prompt(MESSAGES).text == "own hi"
    assert asyncio.run(chats.prompt_async(MESSAGES, chat_template="other")).text == "other hi"
    with pytest.raises(SandboxError):
        chats.prompt(MESSAGES, chat_template="{{ bos_token }}")


def test_a_requests_template_is_rendered(prompt):
    parsed = prompt(
        MESSAGES, chat_template="{{ bos_token }}{{ messages[0].content }}{{ x }}", chat_template_kwargs={"x": 5}
    )
    assert (parsed.text, parsed.add_special_tokens) == ("<s>hi5", False)


ENDLESS = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
BOMBS = {
    "a string": "{{ 'a' * 10**10 }}",
    "doubling": "{% set n = namespace(s='a') %}{% for i in range(60) %}{% set n.s = n.s + n.s %}{% endfor %}",
    "a list": "{{ [0] * 10**9 }}",
    "output": "{% for i in range(99999) %}{{ 'a' * 100000 }}{% endfor %}",
    "a filter": "{{ 'a' | center(10**10) }}",
}


def test_an_endless_template_ends_and_the_next_one_is_served(prompt, monkeypatch):
    monkeypatch.setattr(chat_prompts, "TEMPLATE_SECONDS", 0.5)
    with pytest.raises(SandboxTimeoutError, match=r"^the chat template took longer than 0.5 s and was stopped$"):
        prompt(MESSAGES, chat_template=ENDLESS)
    monkeypatch.setattr(chat_prompts, "TEMPLATE_SECONDS", 60)
    assert prompt(MESSAGES, chat_template="next").text == "next"


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS)
def test_a_template_that_fills_the_memory_ends(chats, bomb):
    with pytest.raises(SandboxMemoryError, match="the chat template needs more memory than it may have"):
        chats.prompt(MESSAGES, chat_template=bomb)


def test_a_template_that_makes_too_much_text():
    roomy = Sandbox(num_helpers=1)
    chats = ChatPrompts("m", ChatTemplate(OWN, {}), roomy)
    with contextlib.closing(roomy), pytest.raises(SandboxError, match=r"made \d+ bytes, more than it may"):
        chats.prompt(MESSAGES, chat_template="{{ 'a' * 20000000 }}")


@pytest.mark.parametrize(
    "template, message",
    [
        ("{{ raise_exception('only two roles') }}", r"^the chat template refused the messages: only two roles$"),
        ("{% if %}", r"^the chat template is not valid Jinja \(line 1\)"),
        ("{% for a in b %}" * 30 + "{% endfor %}" * 30, "does not compile: SyntaxError: too many statically nested"),
        ("{{" + "(" * 5000 + ")" * 5000 + "}}", "does not compile: RecursionError"),
        ("{{ range(10**9) | list }}", "Range too big"),
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "RecursionError"),
    ],
)
def test_errors_of_a_template_are_its_own(prompt, template, message):
    with pytest.raises(ChatTemplateError, match=message):
        prompt(MESSAGES, chat_template=template)


def test_an_effort_that_the_requests_template_does_not_know(prompt):
    with pytest.raises(ParameterError, match=r"^reasoning_effort: this chat template has no variable for it") as caught:
        prompt(MESSAGES, chat_template="{{ messages[0].content }}", reasoning_effort="high")
    assert caught.value.parameter == "reasoning_effort"


def test_messages_of_the_wrong_shape(prompt):
    deep = 1
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(ChatTemplateError, match="nested in more than 64"):
        prompt([{"role": "user", "content": "a", "x": deep}], chat_template="a")
    with pytest.raises(ChatTemplateError, match="exclude each other"):
        prompt(MESSAGES, chat_template="a", continue_final_message=True)


def test_a_model_without_a_tokenizer_has_no_chat(sandbox):
    with pytest.raises(ChatTemplateError, match="m has no tokenizer"):
        ChatPrompts("m", None, sandbox).prompt(MESSAGES)


def test_endless_templates_do_not_hold_up_those_of_the_model(chats, monkeypatch):
    monkeypatch.setattr(chat_prompts, "TEMPLATE_SECONDS", 0.3)

    async def crowd():
        endless = [asyncio.ensure_future(chats.prompt_async(MESSAGES, chat_template=ENDLESS)) for _ in range(8)]
        own = await asyncio.gather(*(chats.prompt_async(MESSAGES) for _ in range(20)))
        assert not any(one.done() for one in endless)
        return own, await asyncio.gather(*endless, return_exceptions=True)

    own, endless = asyncio.run(crowd())
    assert [one.text for one in own] == ["own hi"] * 20
    assert all(isinstance(one, RequestError) for one in endless)
