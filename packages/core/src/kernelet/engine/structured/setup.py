"""What a start makes for structured output, in frontends and in the engine."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from importlib.util import find_spec

from kernelet.config import EngineConfig, ModelConfig, StructuredConfig
from kernelet.config.structured import ConstraintLimits
from kernelet.contracts.plugins import PluginView
from kernelet.contracts.structured import GrammarEngineOffer, TokenVocabulary
from kernelet.engine.options import EngineOptions
from kernelet.engine.sandbox.messages import PluginsOfHelper
from kernelet.engine.sandbox.pool import Sandbox
from kernelet.engine.structured.compiler import GrammarCompiler
from kernelet.engine.structured.forced import ForcedText
from kernelet.engine.structured.grammars import Grammars
from kernelet.engine.structured.lanes import TOGETHER
from kernelet.engine.structured.prepare import AUTO, StructuredOutputs
from kernelet.engine.structured.start import Starter
from kernelet.errors import ConfigError, ParameterError
from kernelet.text.tokenizer import Tokenizer
from kernelet.text.vocabulary import token_vocabulary


def structured_config(options: EngineOptions) -> StructuredConfig:
    """What the options say."""
    backend, allowed = options.structured_outputs_backend, options.structured_allowed_backends
    return StructuredConfig(
        backend=None if backend == AUTO else backend,
        allowed_backends=None if allowed is None else tuple(allowed),
        fallback=options.structured_fallback,
        disable_any_whitespace=options.structured_disable_any_whitespace,
        disable_additional_properties=options.structured_disable_additional_properties,
        max_whitespace=options.structured_max_whitespace,
        in_reasoning=options.structured_in_reasoning,
        jump_forward=options.structured_jump_forward,
        limits=ConstraintLimits(
            max_bytes=options.structured_max_bytes,
            max_depth=options.structured_max_depth,
            max_nodes=options.structured_max_nodes,
            max_repeat=options.structured_max_repeat,
            max_enum=options.structured_max_enum,
            max_expressions=options.structured_max_expressions,
        ),
        compile_timeout=options.structured_compile_timeout,
        compile_memory=options.structured_compile_memory,
        compile_inline=options.structured_compile_inline,
        cache_bytes=options.structured_cache_bytes,
        mask_timeout=options.structured_mask_timeout,
    )


def make_structured(
    config: StructuredConfig, plugins: PluginView, tokenizer: Tokenizer | None, how_to_get: str
) -> StructuredOutputs:
    """The frontend's half.

    Raises:
        SelectionError: no plugin offers an engine that the operator named.
        ConfigError: texts are to be compared with what cannot be enforced, and what compares them is not installed; or
            the operator allows no engine, or another one than is to serve requests.
    """
    if config.fallback == "validate" and not all(map(find_spec, ("jsonschema", "referencing"))):
        raise ConfigError("--structured-fallback validate needs jsonschema: pip install kernelet-core[validate]")
    for name in (*([] if config.backend is None else [config.backend]), *(config.allowed_backends or ())):
        plugins.select(GrammarEngineOffer, name)
    check_allowed(config)
    offers = [owned.offer for owned in plugins.offers(GrammarEngineOffer)]
    tokens = {} if tokenizer is None else tokenizer.added_tokens
    return StructuredOutputs(offers, config, how_to_get=how_to_get, added_tokens=tokens)


def check_allowed(config: StructuredConfig) -> None:
    """That the engines which serve requests are some, and the operator's own choice among them.

    Raises:
        ConfigError: they are not.
    """
    if config.allowed_backends is None:
        return
    option = "--structured-allowed-backends"
    if not config.allowed_backends:
        raise ConfigError(
            f"{option} names no grammar engine: leave it out for all, or unload the plugins that offer one"
        )
    if config.backend is not None and config.backend not in config.allowed_backends:
        raise ConfigError(f"{option} does not name {config.backend!r}, which --structured-outputs-backend does")


def make_grammars(
    config: EngineConfig,
    plugins: PluginView,
    helper_plugins: Callable[[], PluginsOfHelper],
    load_tokenizer: Callable[[ModelConfig], Tokenizer | None],
) -> Grammars:
    """The engine's half; reads the tokenizer once a request needs it, or for the engine that the operator named."""
    sandbox = Sandbox(TOGETHER, config.structured.compile_memory, plugins=helper_plugins)
    tokens = ModelTokens(config.model, load_tokenizer)
    compiler = GrammarCompiler(plugins, config.structured, tokens.vocabulary, sandbox)
    forced = ForcedText(lambda: compiler.vocabulary, tokens.encode)
    grammars = Grammars(compiler, config.structured, Starter(plugins), forced)
    if config.structured.backend is not None:
        grammars.warm(config.structured.backend)
    return grammars


class ModelTokens:
    """A model's tokenizer, read once it is needed.

    Args:
        model: Whose.
        load_tokenizer: Reads it; None: the model has none.
    """

    def __init__(self, model: ModelConfig, load_tokenizer: Callable[[ModelConfig], Tokenizer | None]) -> None:
        self._model = model
        self._load_tokenizer = load_tokenizer

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer.

        Raises:
            ParameterError: there is none.
        """
        tokenizer = self._load_tokenizer(self._model)
        if tokenizer is None:
            text = f"{self._model.model} has no tokenizer, so there is no text: leave it out"
            raise ParameterError("structured_outputs", text)
        return tokenizer

    def vocabulary(self) -> TokenVocabulary:
        """What engines need of it; takes a while.

        Raises:
            ParameterError: there is none.
        """
        return token_vocabulary(self.tokenizer, self._model.vocab_size)

    def encode(self, text: str) -> list[int]:
        """A text in its own tokens."""
        return self.tokenizer.encode(text, add_special_tokens=False)
