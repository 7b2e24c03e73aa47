"""Messages to prompts: the model's own templates are rendered here, those of requests in the sandbox."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from kernelet.engine.continued import parse_continued
from kernelet.engine.output_parsing import OutputParsing
from kernelet.engine.parsing import Parsers
from kernelet.engine.prompts import ParsedPrompt
from kernelet.engine.sandbox.pool import Sandbox
from kernelet.engine.tool_choice import Tools, without_strict
from kernelet.errors import ChatTemplateError, ParameterError, RequestError, SandboxTargetError
from kernelet.request.tool_choice import ToolChoice
from kernelet.text.chat_template import ChatTemplate
from kernelet.text.requested_template import RENDER, pack, unpack

TEMPLATE_SECONDS: Final = 5.0
"""How long a request's own template may take."""

_WHAT: Final = "the chat template"


class _ToolUse(NamedTuple):
    """What a request says of tools."""

    tools: Tools | None
    tool_choice: ToolChoice
    parallel_tool_calls: bool


class ChatPrompts:
    """Renders chats. Safe to use from several threads.

    Args:
        model: Its name, for messages.
        template: None: the model has no tokenizer.
        sandbox: Where templates that come with requests are rendered.
        parsers: Of the answers; None: none.
    """

    def __init__(
        self, model: str, template: ChatTemplate | None, sandbox: Sandbox, parsers: Parsers | None = None
    ) -> None:
        self._model = model
        self._template = template
        self._sandbox = sandbox
        self._parsers = parsers or Parsers()

    def prompt(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Tools | None = None,
        tool_choice: ToolChoice = "auto",
        parallel_tool_calls: bool = True,
        **template: Any,
    ) -> ParsedPrompt:
        """Messages as the text that a template makes of them, and how the answers to it are parsed.

        Args:
            messages: Objects with ``role`` and ``content``.
            tools: Functions that the model may call; one that is ``strict`` is called as its parameters say.
            tool_choice: ``"none"``: calls are taken out of the answers; ``"required"``, or a function: there must be
                one.
            parallel_tool_calls: More than one call may come, where calls are held to their form.
            template: As for ``LLM.chat``.

        Raises:
            ChatTemplateError: the model has no template, or it refused the messages.
            SandboxError: the request's own template took too long or too much memory.
            ParameterError: another ``tool_choice``, or one that nothing here can see to.
        """
        use = _ToolUse(tools, tool_choice, parallel_tool_calls)
        own, (name, options) = self._own(), rendering(tools=without_strict(tools), **template)
        if name is None or own.is_own(name):
            return self._parsed(own.render(messages, template=name, **options), messages, use, options)
        packed = pack(name, own.special_tokens, messages, **options)
        try:
            text = unpack(self._sandbox.call_sync(RENDER, packed, TEMPLATE_SECONDS, what=_WHAT))
        except SandboxTargetError as error:
            raise refused(error) from None
        return self._parsed(text, messages, use, options)

    async def prompt_async(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Tools | None = None,
        tool_choice: ToolChoice = "auto",
        parallel_tool_calls: bool = True,
        **template: Any,
    ) -> ParsedPrompt:
        """``prompt`` for an event loop, which it does not block."""
        use = _ToolUse(tools, tool_choice, parallel_tool_calls)
        own, (name, options) = self._own(), rendering(tools=without_strict(tools), **template)
        if name is None or own.is_own(name):
            return await asyncio.to_thread(partial(self.prompt, messages, **use._asdict(), **template))
        packed = await asyncio.to_thread(partial(pack, name, own.special_tokens, messages, **options))
        try:
            text = unpack(await self._sandbox.call(RENDER, packed, TEMPLATE_SECONDS, what=_WHAT))
        except SandboxTargetError as error:
            raise refused(error) from None
        return await asyncio.to_thread(self._parsed, text, messages, use, options)

    def _parsed(
        self, text: str, messages: Sequence[Mapping[str, Any]], use: _ToolUse, options: Mapping[str, Any]
    ) -> ParsedPrompt:
        """A rendered chat: it has its own special tokens."""

        def parse(prompt: str) -> OutputParsing | None:
            return self._parsers.parsing(
                prompt,
                use.tools,
                use.tool_choice,
                options["template_kwargs"],
                parallel_tool_calls=use.parallel_tool_calls,
            )

        goes_on = options["continue_final_message"]
        parsing = parse_continued(text, messages, parse) if goes_on else parse(text)
        return ParsedPrompt(text=text, add_special_tokens=False, parsing=parsing)

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


def refused(error: SandboxTargetError) -> RequestError:
    """What a template raised in a helper, as it is raised here."""
    if error.error == "ParameterError":
        field, _, reason = error.text.partition(": ")
        return ParameterError(field, reason)
    return ChatTemplateError(error.text if error.error == "ChatTemplateError" else str(error))
