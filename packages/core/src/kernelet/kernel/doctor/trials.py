"""What can be tried of each kind of offer without a model: its class, making one, and a call where that is cheap."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from kernelet.contracts.attention import Attention, AttentionOffer, AttentionSpec
from kernelet.contracts.cache import (
    CachePolicyOffer,
    CacheSpecOffer,
    EvictionPolicy,
    FullAttentionSpec,
    GroupManager,
    MLAAttentionSpec,
    SlidingWindowSpec,
)
from kernelet.contracts.executor import (
    Communicator,
    CommunicatorOffer,
    Executor,
    ExecutorOffer,
    SchedulerOffer,
    SchedulingPolicy,
)
from kernelet.contracts.io import IOProcessor, IOProcessorOffer
from kernelet.contracts.kv import KVConnectorOffer, SchedulerSide
from kernelet.contracts.lifecycle import PluginOptions
from kernelet.contracts.model import (
    Model,
    ModelArchitectureOffer,
    ModelSource,
    ModelSourceOffer,
    WeightFormatOffer,
    WeightReader,
)
from kernelet.contracts.offer import Offer, Settings
from kernelet.contracts.op import DENSE, Op, OpOffer, Support, WeightKernel, WeightKernelOffer
from kernelet.contracts.parsing import ParserContext, ParserTable, ReasoningParserOffer, ToolParserOffer, check_table
from kernelet.contracts.platform import Device, PlatformOffer
from kernelet.contracts.quant import KVCacheMethod, KVCacheOffer, QuantizationMethod, QuantizerOffer, QuantOffer
from kernelet.contracts.quantizing import Quantizer
from kernelet.contracts.sampling import LogitsProcessor, LogitsProcessorOffer
from kernelet.contracts.serving import Endpoint, EndpointOffer, Server, ServerOffer
from kernelet.contracts.stats import EngineInfo, StatLogger, StatLoggerOffer
from kernelet.contracts.structured import GrammarEngine, GrammarEngineOffer, GrammarRules, Text, TokenVocabulary
from kernelet.contracts.versions import API_VERSIONS, ApiVersion
from kernelet.errors import PluginError
from kernelet.kernel.doctor.interfaces import check_class, check_model
from kernelet.kernel.kinds import kind_of
from kernelet.kernel.settings import check_options

HEAD_SIZE, BLOCK_SIZE, BLOCKS, VOCABULARY, WIDTH = 64, 16, 8, 1000, 64
"""Of a model that there is not: usual sizes."""


class NotHereError(Exception):
    """Something cannot be tried here; the message says why. It is not the plugin's fault."""


@dataclass(frozen=True, kw_only=True)
class Subject:
    """What a trial is given.

    Attributes:
        offer: The offer.
        raw: What its import string names.
        target: The same as a start uses it: an older major's class is adapted.
        settings: The plugin's options.
        missing: Why the platform lacks what the offer asks for; empty: it does not.
    """

    offer: Any
    raw: Any
    target: Any
    settings: Settings
    missing: str = ""

    @property
    def today(self) -> bool:
        """Whether it was written for today's major."""
        return ApiVersion.parse(self.offer.api).major == API_VERSIONS[kind_of(type(self.offer)).domain].major


Trial = Callable[[Subject], None]

INTERFACES: Mapping[type[Offer], type] = MappingProxyType(
    {
        PlatformOffer: Device,
        AttentionOffer: Attention,
        WeightKernelOffer: WeightKernel,
        CacheSpecOffer: GroupManager,
        CachePolicyOffer: EvictionPolicy,
        ModelSourceOffer: ModelSource,
        WeightFormatOffer: WeightReader,
        QuantOffer: QuantizationMethod,
        QuantizerOffer: Quantizer,
        KVCacheOffer: KVCacheMethod,
        KVConnectorOffer: SchedulerSide,
        ExecutorOffer: Executor,
        CommunicatorOffer: Communicator,
        SchedulerOffer: SchedulingPolicy,
        LogitsProcessorOffer: LogitsProcessor,
        IOProcessorOffer: IOProcessor,
        GrammarEngineOffer: GrammarEngine,
        StatLoggerOffer: StatLogger,
        ServerOffer: Server,
        EndpointOffer: Endpoint,
    }
)
"""The abstract class of each kind of target; architectures and ops have none that they must inherit from."""


def trials(kind: type[Offer]) -> Iterator[tuple[str, Trial]]:
    """What is tried of a kind, in words, and the functions that raise what is wrong."""
    yield "implements its contract", _interface
    if kind in MADE:
        yield "made with the plugin's options", MADE[kind]


def _interface(subject: Subject) -> None:
    kind = type(subject.offer)
    if kind in INTERFACES:
        check_class(subject.raw, INTERFACES[kind], constructor=subject.today)
    elif kind is ModelArchitectureOffer:
        check_model(subject.raw, Model)
    elif isinstance(subject.raw, type) and issubclass(subject.raw, Op):
        check_class(subject.raw, Op)
    elif not callable(subject.raw):
        raise PluginError(f"{subject.offer.target} is a {type(subject.raw).__name__}, which cannot be called")


def _needs_platform(subject: Subject) -> None:
    if subject.missing:
        raise NotHereError(subject.missing)


def _device(subject: Subject) -> None:
    _needs_platform(subject)
    subject.target(subject.settings, 0)


def _attention(subject: Subject) -> None:
    _needs_platform(subject)
    offer: AttentionOffer = subject.offer
    head_size = offer.head_sizes[0] if offer.head_sizes else HEAD_SIZE
    for kind, form in ((kind, form) for kind in sorted(offer.kinds) for form in ("", *offer.cache_dtypes)):
        cache_dtype, _, cache_scales = form.partition(":")
        spec = AttentionSpec(
            kind=kind,
            num_heads=2,
            num_kv_heads=1,
            head_size=head_size,
            dtype=offer.dtypes[0] if offer.dtypes else "float32",
            block_size=math.lcm(BLOCK_SIZE, offer.block_size_multiple),
            scale=1.0,
            window=BLOCK_SIZE if kind == "sliding" else None,
            kv_lora_rank=head_size // 2 if kind == "mla" else 0,
            cache_dtype=cache_dtype,
            cache_scales=cache_scales,
        )
        subject.target(spec, subject.settings)


def _op(subject: Subject) -> None:
    if not isinstance(subject.raw, type) or not issubclass(subject.raw, Op):
        raise NotHereError("a function has nothing to be made")
    _needs_platform(subject)
    subject.target(subject.settings)


def _weight_kernel(subject: Subject) -> None:
    _needs_platform(subject)
    offer: WeightKernelOffer = subject.offer
    for role in offer.roles:
        shape = (2, WIDTH, WIDTH) if role == "grouped_linear" else (WIDTH, WIDTH)
        support = subject.target.supports(role, DENSE, "float32", shape)
        if not isinstance(support, Support):
            raise PluginError(f"supports() returned {type(support).__name__}, not Support")
        if support.ok:
            subject.target(subject.settings, role, DENSE)


def _cache_spec(subject: Subject) -> None:
    facts = {"block_size": BLOCK_SIZE, "page_bytes": 4096, "num_kv_heads": 1, "head_size": HEAD_SIZE}
    specs: dict[str, FullAttentionSpec] = {
        "full": FullAttentionSpec(**facts, dtype="float32"),
        "sliding_window": SlidingWindowSpec(**facts, dtype="float32", window=BLOCK_SIZE),
        "mla": MLAAttentionSpec(**facts, dtype="float32", kv_lora_rank=HEAD_SIZE // 2),
    }
    if subject.offer.kind not in specs:
        raise NotHereError(f"only the plugin knows the cache spec {subject.offer.kind}")
    found = subject.target(specs[subject.offer.kind]).num_blocks(BLOCK_SIZE + 1)
    if not isinstance(found, int):
        raise PluginError(f"num_blocks() returned {type(found).__name__}, not int")


def _cache_policy(subject: Subject) -> None:
    policy = subject.target(subject.settings, BLOCKS)
    policy.add(1)
    given_up, left = policy.evict(), len(policy)
    if (given_up, left) != (1, 0):
        raise PluginError(f"of a policy that holds block 1, evict() gave up {given_up!r} and left {left} blocks")


def _only_settings(subject: Subject) -> None:
    subject.target(subject.settings)


def _quantizer(subject: Subject) -> None:
    schema = check_options(PluginOptions(schema=subject.offer.options))
    values = {key: option.default for key, option in schema.items()}
    subject.target(Settings(plugin=subject.settings.plugin, values=values))


@dataclass(frozen=True)
class _Request:
    """What a scheduling policy may look at."""

    request_id: str = "a"
    priority: int = 0
    arrival_time: float = 0.0
    arrival_index: int = 0
    num_tokens: int = 1
    num_prompt_tokens: int = 1
    extra_args: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def _scheduler(subject: Subject) -> None:
    key = tuple(subject.target(subject.settings).key(_Request()))
    if not key or not all(isinstance(part, int | float) and not math.isnan(part) for part in key):
        raise PluginError(f"key() returned {key!r}, not numbers")


def _logits_processor(subject: Subject) -> None:
    subject.target(subject.settings, VOCABULARY)


def _parser(subject: Subject) -> None:
    table = subject.target(ParserContext())
    if not isinstance(table, ParserTable):
        raise PluginError(f"{subject.offer.target} returned {type(table).__name__}, not ParserTable")
    check_table(table)


def _grammar_engine(subject: Subject) -> None:
    """Of every byte and the end, "a" is compiled."""
    tokens = (*(bytes([byte]) for byte in range(256)), b"")
    vocabulary = TokenVocabulary(token_bytes=tokens, stop_token_ids=(256,), digest="doctor")
    engine = subject.target(subject.settings, vocabulary)
    grammar = engine.load(engine.compile(GrammarRules({"root": Text("a")}))).start()
    found = grammar.accept([ord("b")]), grammar.accept([ord("a")]), grammar.can_end()
    if found != (False, True, True):
        raise PluginError(f'of rules that allow "a" alone, b, a and the end were {found}, not (False, True, True)')


def _stat_logger(subject: Subject) -> None:
    engine = EngineInfo(
        model="doctor",
        architecture="none",
        dtype="float32",
        max_model_len=1,
        platform="none",
        max_num_seqs=1,
        max_num_batched_tokens=1,
        enable_prefix_caching=False,
        caches=(),
    )
    subject.target(subject.settings, engine).close()


def _server(subject: Subject) -> None:
    subject.target.check_settings(subject.settings)


MADE: Mapping[type[Offer], Trial] = MappingProxyType(
    {
        PlatformOffer: _device,
        AttentionOffer: _attention,
        OpOffer: _op,
        WeightKernelOffer: _weight_kernel,
        CacheSpecOffer: _cache_spec,
        CachePolicyOffer: _cache_policy,
        ModelSourceOffer: _only_settings,
        QuantizerOffer: _quantizer,
        SchedulerOffer: _scheduler,
        LogitsProcessorOffer: _logits_processor,
        ToolParserOffer: _parser,
        ReasoningParserOffer: _parser,
        GrammarEngineOffer: _grammar_engine,
        StatLoggerOffer: _stat_logger,
        ServerOffer: _server,
    }
)
"""Kinds whose object is made here; models, their quantization and IO processors, readers, KV connectors, executors,
communicators and endpoints need more; a server's options are checked, it needs an engine."""
