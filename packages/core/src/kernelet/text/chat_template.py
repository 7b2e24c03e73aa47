"""Chat messages to the prompt text that the model was trained on."""

from __future__ import annotations

import threading
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kernelet.errors import ChatTemplateError
from kernelet.text.chat_messages import join_text_parts, plain, plain_list_of_objects, plain_messages
from kernelet.text.folder import read_json
from kernelet.text.reasoning_effort import effort_variables

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from os import PathLike

    from kernelet.text.compiled_template import CompiledTemplate, Compiler
    from kernelet.text.template_source import TemplateFacts

_RESERVED: Final = frozenset({"messages", "tools", "documents", "add_generation_prompt"})
# Ends in a space so that a template which trims contents shows that it does.
_MARK: Final = "\ue000CONTINUE FROM HERE\ue001 "
_MAX_COMPILED: Final = 32


class ChatTemplate:
    """The chat templates of a model. Safe to use from several threads.

    Args:
        templates: Source by name; the model's main one is ``"default"``, one for calls with tools ``"tool_use"``.
        special_tokens: Text by role (``"bos_token"``), variables of the template.
        now: The local time, for templates that write the date.
    """

    def __init__(
        self,
        templates: Mapping[str, str],
        special_tokens: Mapping[str, str],
        *,
        now: Callable[[], datetime] = datetime.now,
    ) -> None:
        self.templates = dict(templates)
        self._special_tokens = dict(special_tokens)
        self._now = now
        self._compiler: Compiler | None = None
        self._compiled: dict[str, CompiledTemplate] = {}
        self._lock = threading.Lock()

    @classmethod
    def from_folder(cls, folder: str | PathLike[str], special_tokens: Mapping[str, str]) -> ChatTemplate:
        """Read the templates of a model folder; there may be none.

        The file chat_template.jinja and the folder additional_chat_templates come before tokenizer_config.json.

        Raises:
            TokenizerError: tokenizer_config.json is malformed.
            ChatTemplateError: Its chat_template is neither a string nor a list of named ones.
        """
        folder = Path(folder)
        files = sorted((folder / "additional_chat_templates").glob("*.jinja"))
        found = {path.stem: path.read_text(encoding="utf-8") for path in files}
        if (path := folder / "chat_template.jinja").is_file():
            found["default"] = path.read_text(encoding="utf-8")
        if not found:
            found = _named(read_json(folder / "tokenizer_config.json").get("chat_template"))
        return cls(found, special_tokens)

    def render(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        documents: Sequence[Mapping[str, Any]] | None = None,
        add_generation_prompt: bool = True,
        continue_final_message: bool = False,
        template: str | None = None,
        template_kwargs: Mapping[str, Any] | None = None,
        reasoning_effort: str | None = None,
    ) -> str:
        """The prompt. It has its own bos token where the model wants one: encode it without special tokens.

        Args:
            messages: Objects with ``role`` and ``content`` (a string, or parts ``{"type": "text", "text": ...}``).
            tools: JSON schemas of functions.
            documents: For templates that know retrieval.
            add_generation_prompt: End with the start of an assistant's message.
            continue_final_message: End inside the last message, so that the model continues it.
            template: Name of one of the model's templates, or source; None: the one that fits.
            template_kwargs: More variables of the template.
            reasoning_effort: How much the model should think; what ``template_kwargs`` say of it comes first.

        Raises:
            ChatTemplateError: No template, messages of the wrong shape, a variable that the template does not know,
                or the template failed or refused the messages.
            ParameterError: ``reasoning_effort``, of which the template knows nothing.
        """
        if continue_final_message and add_generation_prompt:
            raise ChatTemplateError(
                "continue_final_message and add_generation_prompt exclude each other: set add_generation_prompt=False"
            )
        compiled = self._compile(self._choose(template, has_tools=tools is not None))
        facts = compiled.facts
        effort = {} if reasoning_effort is None else effort_variables(reasoning_effort, facts.variables)
        chat = plain_messages(messages)
        if not facts.reads_content_parts:
            chat = join_text_parts(chat)
        last = _mark_end(chat, messages[-1].get("content")) if continue_final_message else ""
        text = compiled.render(
            {
                **self._special_tokens,
                **effort,
                **_checked_variables(template_kwargs or {}, facts),
                "messages": chat,
                "tools": plain_list_of_objects(tools, "tools"),
                "documents": plain_list_of_objects(documents, "documents"),
                "add_generation_prompt": add_generation_prompt,
            }
        )
        return _cut_at_mark(text, last) if continue_final_message else text

    def is_own(self, template: str | None) -> bool:
        """Whether what ``render`` is given means one of the model's templates."""
        return template is None or template in self.templates

    @property
    def special_tokens(self) -> Mapping[str, str]:
        """Text by role, as templates see it."""
        return self._special_tokens

    def _choose(self, template: str | None, *, has_tools: bool) -> str:
        """The source to use."""
        if template is not None:
            return self.templates.get(template, template)
        for name in ("tool_use", "default") if has_tools else ("default",):
            if name in self.templates:
                return self.templates[name]
        if self.templates:
            names = ", ".join(sorted(self.templates))
            raise ChatTemplateError(f"the model has chat templates but no default: name one of them: {names}")
        raise ChatTemplateError(
            "the model has no chat template (no chat_template.jinja, none in tokenizer_config.json): "
            "give one, or send a plain prompt instead of messages"
        )

    def _compile(self, source: str) -> CompiledTemplate:
        with self._lock:
            if source in self._compiled:
                return self._compiled[source]
            if self._compiler is None:
                # here, since an engine that no one chats with starts sooner without Jinja
                from kernelet.text.compiled_template import Compiler

                self._compiler = Compiler(self._now)
        found = self._compiler.compile(source)
        with self._lock:
            if len(self._compiled) >= _MAX_COMPILED:
                self._compiled.pop(next(iter(self._compiled)))
            self._compiled[source] = found
        return found


def _named(value: Any) -> dict[str, str]:
    """Templates by name, from the ``chat_template`` of tokenizer_config.json."""
    if value is None:
        return {}
    if isinstance(value, str):
        return {"default": value}
    try:
        return {str(item["name"]): str(item["template"]) for item in value}
    except (TypeError, KeyError) as error:
        problem = error
    raise ChatTemplateError(
        "chat_template in tokenizer_config.json should be a string or a list of objects with name and template"
    ) from problem


def _checked_variables(variables: Mapping[str, Any], facts: TemplateFacts) -> dict[str, Any]:
    """The user's variables; one that the template never reads would be ignored, so it is refused."""
    for name in variables:
        if name in _RESERVED:
            raise ChatTemplateError(f"chat_template_kwargs.{name} is set by a parameter of its own: use that")
        if name not in facts.variables:
            known = ", ".join(sorted(facts.variables - _RESERVED)) or "none"
            raise ChatTemplateError(
                f"chat_template_kwargs.{name} is not a variable of this chat template (it reads: {known}): leave it out"
            )
    return {name: plain(value, f"chat_template_kwargs.{name}") for name, value in variables.items()}


def _mark_end(chat: list[dict[str, Any]], given: object) -> str:
    """Put a mark at the end of the last message's text, if one was given; returns that text."""
    last = chat[-1]
    content = last.get("content")
    if isinstance(content, str) and given is not None:
        last["content"] = content + _MARK
        return content
    if isinstance(content, list) and content:
        text: str = content[-1]["text"]
        content[-1]["text"] = text + _MARK
        return text
    raise ChatTemplateError("continue_final_message: the last message has no text to continue")


def _cut_at_mark(text: str, last: str) -> str:
    """The text before the mark; where the template trims contents, so is the end of this text."""
    place = text.rfind(_MARK.strip())
    if place < 0 or last.strip() not in text:
        raise ChatTemplateError(
            "continue_final_message: the chat template changes or drops the last message, so it cannot be continued"
        )
    return text[:place] if text.startswith(_MARK, place) else text[:place].rstrip()
