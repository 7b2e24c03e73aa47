"""What the synchronous and the asynchronous API share: one model's tokenizer, its checks, and the way into its core."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kernelet.config import EngineConfig
from kernelet.engine.core_client import CoreClient, Sink
from kernelet.engine.input_processor import InputProcessor, PreparedRequest
from kernelet.engine.owned_request import OwnedRequest
from kernelet.engine.prompts import ParsedPrompt
from kernelet.errors import ChatTemplateError
from kernelet.text.chat_template import ChatTemplate
from kernelet.text.tokenizer import Tokenizer


@dataclass(frozen=True, kw_only=True)
class Frontend:
    """A running engine as seen from its users' side.

    Attributes:
        client: The way to the core.
        config: Final configuration, with every plugin's changes.
        tokenizer: None where the model has none.
        chat_template: None where the model has no tokenizer.
        input_processor: Checks requests.
        close: Stops the engine and ends the process's plugins. May be called twice.
    """

    client: CoreClient
    config: EngineConfig
    tokenizer: Tokenizer | None
    chat_template: ChatTemplate | None
    input_processor: InputProcessor
    close: Callable[[], None]

    def own(self, request: PreparedRequest, sink: Sink) -> OwnedRequest:
        """The owner of a request; entering it sends the request."""
        cache = self.config.cache
        share_from = cache.block_size if cache.enable_prefix_caching else None
        return OwnedRequest(self.client, request, sink, self.tokenizer, share_from)

    def chat_prompt(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        chat_template: str | None = None,
        add_generation_prompt: bool = True,
        continue_final_message: bool = False,
        tools: Sequence[Mapping[str, Any]] | None = None,
        chat_template_kwargs: Mapping[str, Any] | None = None,
    ) -> ParsedPrompt:
        """Messages as the text that the model's template makes of them.

        Raises:
            ChatTemplateError: the model has no template, or it refused the messages.
        """
        if self.chat_template is None:
            raise ChatTemplateError(f"{self.config.model.model} has no tokenizer, so it has no chat template")
        text = self.chat_template.render(
            messages,
            tools=tools,
            add_generation_prompt=add_generation_prompt,
            continue_final_message=continue_final_message,
            template=chat_template,
            template_kwargs=chat_template_kwargs,
        )
        return ParsedPrompt(text=text, add_special_tokens=False)
