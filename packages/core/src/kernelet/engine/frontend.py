"""What the synchronous and the asynchronous API share: one model's tokenizer, its checks, and the way into its core."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from kernelet.config import EngineConfig
from kernelet.engine.chat_prompts import ChatPrompts
from kernelet.engine.core_client import CoreClient, Sink
from kernelet.engine.input_processor import InputProcessor, PreparedRequest
from kernelet.engine.io_processor import NONE_RUNS, NamedIOProcessor
from kernelet.engine.owned_request import OwnedRequest
from kernelet.engine.parsing import Parsers
from kernelet.engine.pooling import PoolingProcessor
from kernelet.engine.prompts import ParsedPrompt
from kernelet.engine.sandbox.pool import Sandbox
from kernelet.engine.structured.prepare import StructuredOutputs
from kernelet.errors import PromptError
from kernelet.request.structured import UNFINISHED, VIOLATED
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
        io_processor: What ``{"data": ...}`` is given to; None: nobody.
        parsers: Of the answers to chats.
        sandbox: Runs what came with requests and could run for ever.
        structured: Prepares constraints.
        facts: Plugins, plan and versions, in plain values.
    """

    client: CoreClient
    config: EngineConfig
    tokenizer: Tokenizer | None
    chat_template: ChatTemplate | None
    input_processor: InputProcessor
    close: Callable[[], None]
    io_processor: NamedIOProcessor | None = None
    parsers: Parsers = field(default_factory=Parsers)
    sandbox: Sandbox = field(default_factory=Sandbox)
    structured: StructuredOutputs = field(default_factory=StructuredOutputs)
    facts: Mapping[str, object] = field(default_factory=dict)

    @cached_property
    def pooling(self) -> PoolingProcessor:
        """Checks prompts that are pooled."""
        return PoolingProcessor(self.input_processor, self.config.model)

    def need_io_processor(self) -> NamedIOProcessor:
        """The IO processor.

        Raises:
            PromptError: there is none.
        """
        if self.io_processor is None:
            raise PromptError(NONE_RUNS)
        return self.io_processor

    def own(self, request: PreparedRequest, sink: Sink) -> OwnedRequest:
        """The owner of a request; entering it sends the request."""
        cache = self.config.cache
        share_from = cache.block_size if cache.enable_prefix_caching else None
        return OwnedRequest(self.client, request, sink, self.tokenizer, share_from)

    def check(self, request: OwnedRequest) -> None:
        """Compares what has ended of a request with a constraint that nobody enforced. Blocks."""
        for constraint, text, choice in request.to_check():
            verdict = self.structured.check(constraint, text)
            choice.structured = UNFINISHED if verdict == VIOLATED and choice.finish_reason == "length" else verdict

    async def check_async(self, request: OwnedRequest) -> None:
        """``check`` for an event loop."""
        for constraint, text, choice in request.to_check():
            verdict = await self.structured.check_async(constraint, text)
            choice.structured = UNFINISHED if verdict == VIOLATED and choice.finish_reason == "length" else verdict

    @cached_property
    def chats(self) -> ChatPrompts:
        """Makes prompts of messages."""
        return ChatPrompts(self.config.model.model, self.chat_template, self.sandbox, self.parsers)

    def chat_prompt(self, messages: Sequence[Mapping[str, Any]], **template: Any) -> ParsedPrompt:
        """Messages as the text that a template makes of them: see ``ChatPrompts.prompt``."""
        return self.chats.prompt(messages, **template)
