"""From a user's options to a running engine. Every process role starts here."""

from __future__ import annotations

import dataclasses
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import msgspec

from kernelet.config import (
    CacheConfig,
    EngineConfig,
    GraphConfig,
    HealthConfig,
    ModelConfig,
    ParallelConfig,
    PluginsConfig,
    SchedulerConfig,
)
from kernelet.contracts.executor import EnginePlan, Executor
from kernelet.contracts.kv import KVConnectorOffer
from kernelet.contracts.lifecycle import ProcessRole
from kernelet.contracts.model import ModelSourceOffer
from kernelet.contracts.platform import PlatformChoice, PlatformConfig
from kernelet.contracts.quant import KVCacheOffer, QuantOffer
from kernelet.contracts.stats import PluginInfo, StatLoggerOffer
from kernelet.contracts.structured import GrammarEngineOffer
from kernelet.engine.controls import Controls
from kernelet.engine.core import EngineCore
from kernelet.engine.core_client import CoreClient
from kernelet.engine.driver import RunningCore
from kernelet.engine.executors import select_executor
from kernelet.engine.frontend import Frontend
from kernelet.engine.garbage import no_collection
from kernelet.engine.in_process import InProcessClient
from kernelet.engine.input_processor import InputProcessor
from kernelet.engine.io_processor import make_io_processor
from kernelet.engine.kv.life import KVConnection
from kernelet.engine.kv_events.events import KVEvents
from kernelet.engine.kv_options import kv_events, kv_transfer, warn_of_unused
from kernelet.engine.model_config import build_model_config
from kernelet.engine.model_resolution import resolve_model
from kernelet.engine.option_sources import ResolvedOptions, resolve_options
from kernelet.engine.options import EngineOptions
from kernelet.engine.parsing import make_parsers, resolve_parsers
from kernelet.engine.request_checks import argument_validators, connector_params
from kernelet.engine.sandbox.messages import PluginsOfHelper
from kernelet.engine.sandbox.pool import Sandbox
from kernelet.engine.stats import StatDispatcher, engine_info
from kernelet.engine.stored import check_stored, find_kv_cache
from kernelet.engine.structured.setup import make_grammars, make_structured, structured_config
from kernelet.errors import ConfigError, KerneletError
from kernelet.kernel import Kernel, Manifest, State
from kernelet.kernel.kinds import kind_of
from kernelet.kernel.plan import plan_digest
from kernelet.text.chat_template import ChatTemplate
from kernelet.text.tokenizer import Tokenizer

STATS_LOG = "kernelet.engine.stats"
"""The log of ``LoggingStatLogger``, which is silent below INFO."""


@dataclass(frozen=True, kw_only=True)
class Configured:
    """An engine that is decided on and not started.

    Attributes:
        kernel: The plugins of this process.
        platform: The selected platform.
        platform_config: Its half that lives here.
        config: Final: with every plugin's changes (``kernel.config_changes``).
        resolved: The user's options and who set each; none in a process that was told its configuration.
        served_model_name: The name that clients ask for; empty: there is no server.
    """

    kernel: Kernel
    platform: PlatformChoice
    platform_config: PlatformConfig
    config: EngineConfig
    resolved: ResolvedOptions = field(default_factory=lambda: ResolvedOptions(options=EngineOptions(), sources={}))
    served_model_name: str = ""


def start_engine(model: str, arguments: Mapping[str, object]) -> Frontend:
    """Configures and starts an engine in this process.

    Args:
        model: A plugin's model name, a local folder or model file, or a Hugging Face hub id.
        arguments: Options by name; ``plugins`` may hold plugin objects beside names.

    Raises:
        KerneletError: it cannot start, and why.
    """
    rest, objects = take_objects(arguments)
    return start(configure_engine(model, resolve_options(rest), objects))


def take_objects(arguments: Mapping[str, object]) -> tuple[dict[str, object], tuple[object, ...]]:
    """Takes the plugin objects out of ``plugins``, which keeps names and import strings."""
    given = arguments.get("plugins")
    if not isinstance(given, list | tuple) or all(isinstance(one, str) for one in given):
        return dict(arguments), ()
    names = [one for one in given if isinstance(one, str)]
    rest = {name: value for name, value in arguments.items() if name != "plugins"}
    return rest | ({"plugins": names} if names else {}), tuple(one for one in given if not isinstance(one, str))


def boot_kernel(options: EngineOptions, objects: Sequence[object] = (), endpoints: Sequence[str] = ()) -> Kernel:
    """The plugins of this process, as the options say. Plugin objects and import strings add to what names select."""
    imports = tuple(one for one in options.plugins or () if ":" in one)
    return Kernel.boot(plugins_config(options, endpoints), role=ProcessRole.FRONTEND, plugins=(*imports, *objects))


def find_model(name: str, kernel: Kernel) -> Path:
    """The folder of a model.

    Raises:
        ModelNotFoundError: saying for each way why it failed.
    """
    offers = [owned.offer for owned in kernel.offers(ModelSourceOffer)]
    known = [name for offer in offers for name in offer.models]
    patterns = [pattern for offer in offers for pattern in offer.patterns]
    return resolve_model(name, kernel.model_source, known, absent=kernel.absent_sources, patterns=patterns)


@no_collection()
def configure_engine(
    model: str, resolved: ResolvedOptions, objects: Sequence[object] = (), endpoints: Sequence[str] = ()
) -> Configured:
    """Everything up to the start: plugins, platform, the model's folder and configuration, plugins' changes.

    Raises:
        KerneletError: something does not fit, and what to do.
    """
    if not model:
        raise ConfigError("model: got an empty text, expected a name or a folder")
    options = resolved.options
    kernel = boot_kernel(options, objects, endpoints)
    transfer = kv_transfer(options, lambda name: kernel.select(KVConnectorOffer, name).chosen)
    kernel.use_settings(transfer.settings, transfer.origins)
    warn_of_unused(options.set, kernel.offers(KVConnectorOffer), transfer.config.connectors)
    platform = kernel.select_platform()
    assert kernel.platform_config is not None
    model_config = build_model_config(
        model,
        find_model(model, kernel),
        options,
        platform.capabilities,
        kernel.architecture,
        partial(kernel.select, QuantOffer),
        [owned.offer for owned in kernel.offers(QuantOffer)],
    )
    wanted = engine_config(model_config, options, endpoints)
    wanted = replace(wanted, kv_transfer=transfer.config, plugins=replace(wanted.plugins, settings=transfer.settings))
    chosen = resolve_parsers(
        wanted.plugins, kernel, lambda: list(ChatTemplate.from_folder(model_config.path, {}).templates.values())
    )
    config = kernel.configure(replace(wanted, plugins=chosen))
    find_kv_cache(config.cache.dtype, partial(kernel.select, KVCacheOffer))
    return Configured(
        kernel=kernel, platform=platform, platform_config=kernel.platform_config, config=config, resolved=resolved
    )


@no_collection()
def join_engine(manifest: bytes, config: EngineConfig, role: ProcessRole = ProcessRole.ENGINE) -> Configured:
    """What ``configure_engine`` decided in the parent, in a child: the same plugins, proven, and nothing decided anew.

    Args:
        manifest: ``Manifest.encode`` of the parent.
        config: The parent's final configuration.
        role: What the child does.

    Raises:
        ManifestMismatchError: the child has other plugins; names both sides.
        PluginError: one of them cannot run here.
    """
    kernel = Kernel.from_manifest(Manifest.decode(manifest), config.plugins, role=role)
    platform = kernel.select_platform()
    assert kernel.platform_config is not None
    kernel.architecture([config.model.architecture], config.model.hf_config)
    return Configured(kernel=kernel, platform=platform, platform_config=kernel.platform_config, config=config)


def start_in_process(configured: Configured) -> CoreClient:
    """Loads the model and runs the core on a thread of this process.

    Raises:
        KerneletError: it cannot start, and why.
    """
    return InProcessClient(lambda: start_core(configured), configured.config.health.step_timeout)


@no_collection()
def start(configured: Configured, launch: Callable[[Configured], CoreClient] = start_in_process) -> Frontend:
    """Makes what the frontend needs, then starts the engine.

    Args:
        configured: What was decided.
        launch: Brings the way to the core: starts it on a thread, in a process, or comes to one that runs.

    Raises:
        KerneletError: it cannot start, and why.
    """
    kernel, config = configured.kernel, configured.config
    if configured.resolved.options.log_stats:
        logging.getLogger(STATS_LOG).setLevel(logging.INFO)
    tokenizer = load_tokenizer(config.model)
    template = None if tokenizer is None else ChatTemplate.from_folder(config.model.path, tokenizer.special_tokens)
    structured = make_structured(config.structured, kernel, tokenizer, kind_of(GrammarEngineOffer).how_to_get)
    validators, connectors = argument_validators(kernel, config), connector_params(kernel, config)
    processor = InputProcessor(tokenizer, config.model, configured.platform_config, validators, structured, connectors)
    io_processor = make_io_processor(config, kernel, tokenizer)
    parsers = make_parsers(config.plugins, kernel, tokenizer)
    kernel.lifecycle.process_started()
    client = launch(configured)
    sandbox = Sandbox(plugins=partial(helper_plugins, kernel))
    return Frontend(
        client=client,
        config=config,
        tokenizer=tokenizer,
        chat_template=template,
        input_processor=processor,
        close=Once(client.shutdown, sandbox.close, structured.close, kernel.lifecycle.process_stopped),
        sandbox=sandbox,
        structured=structured,
        parsers=parsers,
        io_processor=io_processor,
        facts=facts(configured, client.plan),
    )


class Once:
    """Calls functions in order, the first time only."""

    def __init__(self, *functions: Callable[[], None]) -> None:
        self._functions = functions
        self._lock = threading.Lock()

    def __call__(self) -> None:
        if self._lock.acquire(blocking=False):
            for function in self._functions:
                function()


def helper_plugins(kernel: Kernel) -> PluginsOfHelper:
    """What helpers of the sandbox load, where they need plugins: the grammar engines of this process."""
    engines = {owned.plugin for owned in kernel.offers(GrammarEngineOffer)}
    settings = {name: values for name, values in kernel.config.settings.items() if name in engines}
    config = dataclasses.replace(kernel.config, settings=settings, locked="")  # this process is what the lock says
    return PluginsOfHelper(manifest=kernel.manifest.only(engines).encode(), config=config)


@no_collection()
def start_core(configured: Configured, *, with_loggers: bool = True) -> RunningCore:
    """Executor and core; called on the engine's thread.

    Args:
        configured: What was decided.
        with_loggers: Whether stat loggers run here; they run in the frontend where that is another process.

    Raises:
        KerneletError: the model does not load or does not fit.
    """
    kernel, config = configured.kernel, configured.config
    owned = select_executor(kernel, config.parallel)
    executor: Executor = kernel.load(owned)(config, configured.platform, kernel)
    events: KVEvents | None = None
    core: EngineCore | None = None
    try:
        events = KVEvents(config.kv_events)
        plan = executor.start()
        if plan.cache is None:
            raise KerneletError(f"executor {owned.offer.name!r} returned a plan without cache groups: report it")
        check_stored(plan, config)
        grammars = make_grammars(config, kernel, partial(helper_plugins, kernel), load_tokenizer)
        core = EngineCore.from_plugins(config, executor, plan.cache, kernel, grammars)
        connection = KVConnection(config, plan, kernel, executor, core)
        kernel.check_selected()
        stats = make_stats(configured, plan) if with_loggers else StatDispatcher([])
        kernel.lifecycle.engine_started()
    except BaseException:
        executor.shutdown()
        if events is not None:
            events.close()
        if core is not None:
            core.disconnect()
        raise
    return RunningCore(
        core=core,
        plan=plan,
        close=Once(core.close, kernel.lifecycle.engine_stopped, executor.shutdown, core.disconnect, events.close),
        sleep=connection.sleep,
        wake_up=connection.wake_up,
        check_health=executor.check_health,
        stats=stats,
        control=Controls(core.selected, executor.control),
        publish=events.of(core.take_cache_events, plan.cache),
        on_news=core.on_news,
    )


def make_stats(configured: Configured, plan: EnginePlan) -> StatDispatcher:
    """All stat loggers of a started engine.

    Raises:
        PluginError: one that was asked for by name cannot be made.
    """
    active = [one for one in configured.kernel.reports if one.state is State.ACTIVE]
    plugins = [PluginInfo(name=one.name, distribution=one.distribution, version=one.version) for one in active]
    info = engine_info(configured.config, plan, plugins, configured.served_model_name)
    return StatDispatcher(configured.kernel.make_all(StatLoggerOffer, info))


def facts(configured: Configured, plan: EnginePlan) -> dict[str, object]:
    """What ``EngineClient.info`` shows, in plain values."""
    kernel = configured.kernel
    return {
        "version": kernel.manifest.core,
        "model": configured.config.model.model,
        "plugins": [report.row() for report in kernel.reports],
        "manifest_digest": kernel.manifest.digest,
        "plan": msgspec.to_builtins(plan),
        "plan_digest": plan_digest(plan),
    }


def identity(configured: Configured, plan: EnginePlan) -> tuple[str, str]:
    """Digests of the plan and of the plugins: an engine that has both is the same engine."""
    return plan_digest(plan), configured.kernel.manifest.digest


def load_tokenizer(model: ModelConfig) -> Tokenizer | None:
    """The model's tokenizer; None where its folder has no trace of one.

    Raises:
        TokenizerError: it has one that cannot be used.
    """
    traces = ("tokenizer.json", "tokenizer_config.json", "tokenizer.model", "vocab.json")
    if not any((Path(model.path) / name).exists() for name in traces):
        return None
    return Tokenizer.from_folder(model.path)


def plugins_config(options: EngineOptions, endpoints: Sequence[str] = ()) -> PluginsConfig:
    """What the options say about plugins. Import strings are no names; a list of only them keeps the default set."""
    names = tuple(one for one in options.plugins or () if ":" not in one)
    return PluginsConfig(
        allow=None if options.plugins is None or (options.plugins and not names) else names,
        block=tuple(options.plugins_block),
        platform=options.platform,
        attention=options.attention_backend,
        kernels=options.weight_kernel,
        logits_processors=tuple(options.logits_processors),
        endpoints=tuple(endpoints),
        io_processor=options.io_processor_plugin,
        tool_call_parser=options.tool_call_parser,
        reasoning_parser=options.reasoning_parser,
        auto_tool_choice=options.enable_auto_tool_choice,
        files=tuple(dict.fromkeys(filter(None, (options.tool_parser_plugin, options.reasoning_parser_plugin)))),
        locked=options.locked or "",
        settings=options.set,
    )


def engine_config(model: ModelConfig, options: EngineOptions, endpoints: Sequence[str] = ()) -> EngineConfig:
    """The engine's configuration before plugins change it."""
    return EngineConfig(
        model=model,
        cache=CacheConfig(
            block_size=options.block_size,
            num_blocks=options.num_blocks,
            memory_bytes=options.kv_cache_memory_bytes,
            memory_utilization=options.memory_utilization,
            enable_prefix_caching=options.enable_prefix_caching,
            eviction_policy=options.eviction_policy,
            dtype=options.kv_cache_dtype,
        ),
        scheduler=SchedulerConfig(
            max_num_seqs=options.max_num_seqs,
            max_num_batched_tokens=options.max_num_batched_tokens,
            policy=options.scheduling_policy,
        ),
        parallel=ParallelConfig(
            tensor_parallel_size=options.tensor_parallel_size,
            executor=options.distributed_executor_backend,
            communicator=options.communicator,
        ),
        plugins=plugins_config(options, endpoints),
        health=HealthConfig(silence_timeout=options.engine_silence_timeout, step_timeout=options.engine_step_timeout),
        structured=structured_config(options),
        kv_events=kv_events(options),
        graphs=GraphConfig(enforce_eager=options.enforce_eager, max_capture_size=options.max_graph_capture_size),
    )
