"""Messages to prompts: the model's own templates are rendered here, those of requests in the sandbox."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from kernelet.engine.prompts import ParsedPrompt
from kernelet.engine.sandbox.pool import Sandbox
from kernelet.errors import ChatTemplateError, SandboxTargetError
from kernelet.text.chat_template import ChatTemplate
from kernelet.text.requested_template import RENDER, pack, unpack

TEMPLATE_SECONDS: Final = 5.0
"""How long a request's own template may take."""

_WHAT: Final = "the chat template"


class ChatPrompts:
    """Renders chats. Safe to use from several threads.

    Args:
        model: Its name, for messages.
        template: None: the model has no tokenizer.
        sandbox: Where templates that come with requests are rendered.
    """

    def __init__(self, model: str, template: ChatTemplate | None, sandbox: Sandbox) -> None:
        self._model = model
        self._template = template
        self._sandbox = sandbox

    def prompt(self, messages: Sequence[Mapping[str, Any]], **template: Any) -> ParsedPrompt:
        """Messages as the text that a template makes of them.

        Args:
            messages: Objects with ``role`` and ``content``.
            template: As for ``LLM.chat``.

        Raises:
            ChatTemplateError: the model has no template, or it refused the messages.
            SandboxError: the request's own template took too long or too much memory.
        """
        own, (name, options) = self._own(), rendering(**template)
        if name is None or own.is_own(name):
            return parsed(own.render(messages, template=name, **options))
        packed = pack(name, own.special_tokens, messages, **options)
        try:
            return parsed(unpack(self._sandbox.call_sync(RENDER, packed, TEMPLATE_SECONDS, what=_WHAT)))
        except SandboxTargetError as error:
            raise refused(error) from None

    async def prompt_async(self, messages: Sequence[Mapping[str, Any]], **template: Any) -> ParsedPrompt:
        """``prompt`` for an event loop, which it does not block."""
        own, (name, options) = self._own(), rendering(**template)
        if name is None or own.is_own(name):
            return parsed(await asyncio.to_thread(partial(own.render, messages, template=name, **options)))
        packed = await asyncio.to_thread(partial(pack, name, own.special_tokens, messages, **options))
        try:
            return parsed(unpack(await self._sandbox.call(RENDER, packed, TEMPLATE_SECONDS, what=_WHAT)))
        except SandboxTargetError as error:
            raise refused(error) from None

    def _own(self) -> ChatTemplate:
        if self._template is None:
            raise ChatTemplateError(f"{self._model} has no tokenizer, so it has no chat template")
        return self._template


def rendering(
    *,
    chat_template: str | None = None,
    add_generation_prompt: bool = True,
    continue_final_message: bool = False,
    tools: Sequence[Mapping[str, Any]] | None = None,
    chat_template_kwargs: Mapping[str, Any] | None = None,
    reasoning_effort: str | None = None,
) -> tuple[str | None, dict[str, Any]]:
    """Template (a name, source, or None for the model's own) and options, as ``ChatTemplate.render`` calls them."""
    return chat_template, {
        "add_generation_prompt": add_generation_prompt,
        "continue_final_message": continue_final_message,
        "tools": tools,
        "template_kwargs": chat_template_kwargs,
        "reasoning_effort": reasoning_effort,
    }


def parsed(text: str) -> ParsedPrompt:
    """A rendered chat has its own special tokens."""
    return ParsedPrompt(text=text, add_special_tokens=False)


def refused(error: SandboxTargetError) -> ChatTemplateError:
    """What a template raised in a helper, as it is raised here."""
    return ChatTemplateError(error.text if error.error == "ChatTemplateError" else str(error))
