"""Messages to a prompt, with the field that is wrong where there is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kernelet.contracts.serving import EngineClient
from kernelet.errors import ChatTemplateError, SandboxBusyError, SandboxError
from kernelet_server_openai.protocol.errors import ApiError

if TYPE_CHECKING:
    from kernelet.engine.prompts import ParsedPrompt

FIELD = "chat_template"
FAULTS, REFUSALS = "the chat template ", "the chat template refused the messages"
"""What errors begin with that the template makes: its own, and what it says of messages."""


async def chat_prompt(
    engine: EngineClient, messages: Sequence[Mapping[str, Any]], template: Mapping[str, Any]
) -> ParsedPrompt:
    """What a template makes of messages.

    Args:
        engine: Renders them.
        messages: Checked.
        template: Other arguments of ``EngineClient.chat_prompt``.

    Raises:
        ApiError: 400: the template that the request gives is wrong, takes too much, or makes nothing.
        KerneletError: as ``EngineClient.chat_prompt``, of anything else.
    """
    if template.get(FIELD) is None:
        return await engine.chat_prompt(messages, **template)
    try:
        prompt = await engine.chat_prompt(messages, **template)
    except SandboxBusyError:
        raise
    except (ChatTemplateError, SandboxError) as error:
        text = str(error)
        if not text.startswith(FAULTS) or text.startswith(REFUSALS):
            raise
        raise ApiError(400, text, param=FIELD) from error
    if not prompt.text:
        raise ApiError(400, f"{FIELD}: it makes an empty prompt of these messages", param=FIELD)
    return prompt
