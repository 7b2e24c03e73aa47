"""The one table of offer kinds: their domain, their hook, the flag that names one, and which are opt-in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from kernelet.config import PluginsConfig
from kernelet.contracts.attention import AttentionOffer
from kernelet.contracts.cache import CachePolicyOffer, CacheSpecOffer
from kernelet.contracts.executor import CommunicatorOffer, ExecutorOffer, SchedulerOffer
from kernelet.contracts.io import IOProcessorOffer
from kernelet.contracts.kv import KVConnectorOffer
from kernelet.contracts.model import ModelArchitectureOffer, ModelSourceOffer, WeightFormatOffer
from kernelet.contracts.offer import Offer
from kernelet.contracts.op import OpOffer, WeightKernelOffer
from kernelet.contracts.parsing import ReasoningParserOffer, ToolParserOffer
from kernelet.contracts.platform import PlatformOffer
from kernelet.contracts.quant import KVCacheOffer, QuantizerOffer, QuantOffer
from kernelet.contracts.sampling import LogitsProcessorOffer
from kernelet.contracts.serving import EndpointOffer, ServerOffer
from kernelet.contracts.stats import StatLoggerOffer
from kernelet.contracts.structured import GrammarEngineOffer
from kernelet.kernel.hooks import Hooks
from kernelet.kernel.host import Answer


def _no_names(_: object) -> Sequence[str]:
    return ()


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of offer.

    Attributes:
        offer: The offer's class.
        domain: Its contract domain.
        scope: What stands before the colon in ``"domain:name"``, and among whose offers a name has one owner; empty:
            the domain.
        label: What people call it.
        package: What stands between ``kernelet-`` and a name in the name of a distribution that offers one.
        hook_name: Name of its hook.
        collect: Calls its hook.
        flag: The command line's flag that names one; empty: nobody does, the model or the layer decides, or all run.
        all_run: Every offer is used, there is nothing to select.
        opt_in: Why it must be named; empty: it need not.
        named: Offers of the kind that the configuration names.
        claims: Further names that an offer owns, unique among offers of the kind.
    """

    offer: type[Offer]
    domain: str
    label: str
    package: str
    hook_name: str
    collect: Callable[[Hooks], list[Answer[Any]]]
    scope: str = ""
    flag: str = ""
    all_run: bool = False
    opt_in: str = ""
    named: Callable[[PluginsConfig], Sequence[str]] = _no_names
    claims: Callable[[Any], Sequence[str]] = _no_names

    def key(self, offer: Offer) -> str:
        """``"domain:name"`` of an offer."""
        return f"{self.scope or self.domain}:{offer.name}"

    @property
    def plural(self) -> str:
        """The label of several."""
        return f"{self.label[:-1]}ies" if self.label.endswith("y") else f"{self.label}s"

    @property
    def variable(self) -> str:
        """The environment variable of the flag."""
        return "KERNELET_" + self.flag.removeprefix("--").upper().replace("-", "_")

    @property
    def how_to_get(self) -> str:
        """What to do where nothing that is installed offers one; the core knows the form of names, not the names."""
        return (
            f"install a package that offers one: its name has the form kernelet-{self.package}-NAME, with a prefix if "
            f"it is a third party's, and it implements {self.hook_name}"
        )

    @property
    def how_to_name(self) -> str:
        """How an operator names one."""
        return f"{self.flag} NAME or {self.variable}=NAME" if self.flag else ""


KINDS: tuple[Kind, ...] = (
    Kind(
        offer=PlatformOffer,
        domain="platform",
        label="platform",
        package="platform",
        hook_name="kernelet_platforms",
        collect=lambda hooks: hooks.platform.platforms(),
        flag="--platform",
    ),
    Kind(
        offer=AttentionOffer,
        domain="attention",
        label="attention backend",
        package="attention",
        hook_name="kernelet_attention_backends",
        collect=lambda hooks: hooks.attention.attention_backends(),
        flag="--attention-backend",
    ),
    Kind(
        offer=OpOffer,
        domain="op",
        label="op",
        package="op",
        hook_name="kernelet_ops",
        collect=lambda hooks: hooks.op.ops(),
    ),
    Kind(
        offer=WeightKernelOffer,
        domain="op",
        label="weight kernel",
        package="weight-kernel",
        hook_name="kernelet_weight_kernels",
        collect=lambda hooks: hooks.op.weight_kernels(),
        flag="--weight-kernel",
    ),
    Kind(
        offer=CacheSpecOffer,
        domain="cache",
        label="cache spec",
        package="cache-spec",
        hook_name="kernelet_cache_specs",
        collect=lambda hooks: hooks.cache.cache_specs(),
        claims=lambda offer: (offer.kind,),
    ),
    Kind(
        offer=CachePolicyOffer,
        domain="cache",
        label="eviction policy",
        package="cache-policy",
        hook_name="kernelet_cache_policies",
        collect=lambda hooks: hooks.cache.cache_policies(),
        flag="--eviction-policy",
    ),
    Kind(
        offer=ModelArchitectureOffer,
        domain="model",
        label="model architecture",
        package="models",
        hook_name="kernelet_model_architectures",
        collect=lambda hooks: hooks.model.model_architectures(),
    ),
    Kind(
        offer=ModelSourceOffer,
        domain="model",
        label="model source",
        package="model",
        hook_name="kernelet_model_sources",
        collect=lambda hooks: hooks.model.model_sources(),
        claims=lambda offer: (*offer.models, *offer.patterns),
    ),
    Kind(
        offer=WeightFormatOffer,
        domain="model",
        label="weight format",
        package="weight-format",
        hook_name="kernelet_weight_formats",
        collect=lambda hooks: hooks.model.weight_formats(),
        flag="--load-format",
    ),
    Kind(
        offer=QuantOffer,
        domain="quant",
        label="quantization method",
        package="quant",
        hook_name="kernelet_quantization_methods",
        collect=lambda hooks: hooks.quant.quantization_methods(),
        flag="--quantization",
        claims=lambda offer: tuple(dict.fromkeys((offer.name, *offer.names))),
    ),
    Kind(
        offer=QuantizerOffer,
        domain="quant",
        label="quantizer",
        package="quant",
        hook_name="kernelet_quantizers",
        collect=lambda hooks: hooks.quant.quantizers(),
        scope="quantizer",
    ),
    Kind(
        offer=KVCacheOffer,
        domain="quant",
        label="KV cache dtype",
        package="quant",
        hook_name="kernelet_kv_cache_methods",
        collect=lambda hooks: hooks.quant.kv_cache_methods(),
        scope="kv-cache",
        flag="--kv-cache-dtype",
    ),
    Kind(
        offer=KVConnectorOffer,
        domain="kv",
        label="KV connector",
        package="kv",
        hook_name="kernelet_kv_connectors",
        collect=lambda hooks: hooks.kv.kv_connectors(),
        flag="--kv-connector",
        claims=lambda offer: tuple(dict.fromkeys((offer.name, *offer.aliases))),
    ),
    Kind(
        offer=ExecutorOffer,
        domain="executor",
        label="executor",
        package="executor",
        hook_name="kernelet_executors",
        collect=lambda hooks: hooks.executor.executors(),
        flag="--distributed-executor-backend",
    ),
    Kind(
        offer=CommunicatorOffer,
        domain="executor",
        label="communicator",
        package="communicator",
        hook_name="kernelet_communicators",
        collect=lambda hooks: hooks.executor.communicators(),
        flag="--communicator",
    ),
    Kind(
        offer=SchedulerOffer,
        domain="executor",
        label="scheduling policy",
        package="scheduler",
        hook_name="kernelet_schedulers",
        collect=lambda hooks: hooks.executor.schedulers(),
        flag="--scheduling-policy",
    ),
    Kind(
        offer=LogitsProcessorOffer,
        domain="sampling",
        label="logits processor",
        package="logits-processor",
        hook_name="kernelet_logits_processors",
        collect=lambda hooks: hooks.sampling.logits_processors(),
        flag="--logits-processors",
        opt_in="it changes outputs",
        named=lambda config: config.logits_processors,
    ),
    Kind(
        offer=IOProcessorOffer,
        domain="io",
        label="IO processor",
        package="io",
        hook_name="kernelet_io_processors",
        collect=lambda hooks: hooks.io.io_processors(),
        flag="--io-processor-plugin",
    ),
    Kind(
        offer=ToolParserOffer,
        domain="parsing",
        label="tool parser",
        package="parsers",
        hook_name="kernelet_tool_parsers",
        collect=lambda hooks: hooks.parsing.tool_parsers(),
        scope="tool-parser",
        flag="--tool-call-parser",
    ),
    Kind(
        offer=ReasoningParserOffer,
        domain="parsing",
        label="reasoning parser",
        package="parsers",
        hook_name="kernelet_reasoning_parsers",
        collect=lambda hooks: hooks.parsing.reasoning_parsers(),
        scope="reasoning-parser",
        flag="--reasoning-parser",
    ),
    Kind(
        offer=GrammarEngineOffer,
        domain="structured",
        label="grammar engine",
        package="structured",
        hook_name="kernelet_grammar_engines",
        collect=lambda hooks: hooks.structured.grammar_engines(),
        flag="--structured-outputs-backend",
    ),
    Kind(
        offer=StatLoggerOffer,
        domain="stats",
        label="stat logger",
        package="stats",
        hook_name="kernelet_stat_loggers",
        collect=lambda hooks: hooks.stats.stat_loggers(),
        all_run=True,
    ),
    Kind(
        offer=ServerOffer,
        domain="serving",
        label="server",
        package="server",
        hook_name="kernelet_servers",
        collect=lambda hooks: hooks.serving.servers(),
        flag="--server",
    ),
    Kind(
        offer=EndpointOffer,
        domain="serving",
        label="endpoint",
        package="endpoint",
        hook_name="kernelet_endpoints",
        collect=lambda hooks: hooks.serving.endpoints(),
        flag="--endpoint",
        opt_in="it answers on the server's port",
        named=lambda config: config.endpoints,
        claims=lambda offer: (offer.prefix,),
    ),
)
"""Later domains add their row here; nothing else in the kernel knows a kind by name."""


def kind_of(offer: type[Offer]) -> Kind:
    """The row of an offer class.

    Raises:
        KeyError: if it is not a kind of offer.
    """
    for kind in KINDS:
        if kind.offer is offer:
            return kind
    raise KeyError(f"{offer.__qualname__} is not a kind of offer")
