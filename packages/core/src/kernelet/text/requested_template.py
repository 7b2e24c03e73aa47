"""A chat template that came with a request: code of a stranger, packed here and rendered in a helper process."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from kernelet.text.chat_messages import plain, plain_list_of_objects, plain_messages
from kernelet.text.chat_template import ChatTemplate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

RENDER: Final = "kernelet.text.requested_template:render"
"""The target that renders what ``pack`` made."""


def pack(
    template: str, special_tokens: Mapping[str, str], messages: Sequence[Mapping[str, Any]], **options: Any
) -> bytes:
    """Everything that ``render`` needs, as JSON: it carries any integer and any half of a surrogate pair.

    Args:
        template: Source.
        special_tokens: Text by role.
        messages: As for ``ChatTemplate.render``.
        options: As for ``ChatTemplate.render``.

    Raises:
        ChatTemplateError: Something is not plain data; the message says what.
    """
    fields = {
        **options,
        "template": template,
        "messages": plain_messages(messages),
        "tools": plain_list_of_objects(options.get("tools"), "tools"),
        "documents": plain_list_of_objects(options.get("documents"), "documents"),
        "template_kwargs": plain(options.get("template_kwargs") or {}, "chat_template_kwargs"),
    }
    return json.dumps([dict(special_tokens), fields]).encode()


def render(packed: bytes) -> bytes:
    """The prompt, encoded.

    Raises:
        ChatTemplateError: As for ``ChatTemplate.render``.
    """
    special_tokens, fields = json.loads(packed)
    return ChatTemplate({}, special_tokens).render(**fields).encode("utf-8", "surrogatepass")


def unpack(rendered: bytes) -> str:
    """The prompt that ``render`` returned."""
    return rendered.decode("utf-8", "surrogatepass")
