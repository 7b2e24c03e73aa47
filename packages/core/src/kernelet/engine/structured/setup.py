"""What a start makes for structured output, in frontends and in the engine."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec

from kernelet.config import EngineConfig, ModelConfig, StructuredConfig
from kernelet.config.structured import ConstraintLimits
from kernelet.contracts.plugins import PluginView
from kernelet.contracts.structured import GrammarEngineOffer, TokenVocabulary
from kernelet.engine.options import EngineOptions
from kernelet.engine.sandbox.messages import PluginsOfHelper
from kernelet.engine.sandbox.pool import Sandbox
from kernelet.engine.structured.compiler import GrammarCompiler
from kernelet.engine.structured.grammars import Grammars
from kernelet.engine.structured.prepare import AUTO, StructuredOutputs
from kernelet.engine.structured.start import Starter
from kernelet.errors import ConfigError, ParameterError
from kernelet.text.tokenizer import Tokenizer
from kernelet.text.vocabulary import token_vocabulary


def structured_config(options: EngineOptions) -> StructuredConfig:
    """What the options say."""
    backend = options.structured_outputs_backend
    return StructuredConfig(
        backend=None if backend == AUTO else backend,
        fallback=options.structured_fallback,
        disable_any_whitespace=options.structured_disable_any_whitespace,
        disable_additional_properties=options.structured_disable_additional_properties,
        max_whitespace=options.structured_max_whitespace,
        in_reasoning=options.structured_in_reasoning,
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
        SelectionError: no plugin offers the engine that the operator named.
        ConfigError: texts are to be compared with what cannot be enforced, and what compares them is not installed.
    """
    if config.fallback == "validate" and not all(map(find_spec, ("jsonschema", "referencing"))):
        raise ConfigError("--structured-fallback validate needs jsonschema: pip install kernelet-core[validate]")
    if config.backend is not None:
        plugins.select(GrammarEngineOffer, config.backend)
    offers = [owned.offer for owned in plugins.offers(GrammarEngineOffer)]
    tokens = {} if tokenizer is None else tokenizer.added_tokens
    return StructuredOutputs(offers, config, how_to_get=how_to_get, added_tokens=tokens)


def make_grammars(
    config: EngineConfig,
    plugins: PluginView,
    helper_plugins: Callable[[], PluginsOfHelper],
    load_tokenizer: Callable[[ModelConfig], Tokenizer | None],
) -> Grammars:
    """The engine's half; reads the tokenizer once a request needs it, or for the engine that the operator named."""
    sandbox = Sandbox(memory_bytes=config.structured.compile_memory, plugins=helper_plugins)
    vocabulary = partial(load_vocabulary, config.model, load_tokenizer)
    compiler = GrammarCompiler(plugins, config.structured, vocabulary, sandbox)
    grammars = Grammars(compiler, config.structured, Starter(plugins))
    if config.structured.backend is not None:
        grammars.warm(config.structured.backend)
    return grammars


def load_vocabulary(model: ModelConfig, load_tokenizer: Callable[[ModelConfig], Tokenizer | None]) -> TokenVocabulary:
    """The vocabulary of a model.

    Raises:
        ParameterError: it has no tokenizer.
    """
    tokenizer = load_tokenizer(model)
    if tokenizer is None:
        raise ParameterError("structured_outputs", f"{model.model} has no tokenizer, so there is no text: leave it out")
    return token_vocabulary(tokenizer, model.vocab_size)
