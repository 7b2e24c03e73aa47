"""The typed facade: one thin method a hook, grouped by domain. Nothing else calls hooks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kernelet.kernel.host import Answer, PluginHost

if TYPE_CHECKING:
    from kernelet.config import EngineConfig
    from kernelet.contracts.attention import AttentionOffer
    from kernelet.contracts.cache import CachePolicyOffer, CacheSpecOffer
    from kernelet.contracts.executor import CommunicatorOffer, ExecutorOffer, SchedulerOffer
    from kernelet.contracts.io import IOProcessorOffer
    from kernelet.contracts.kv import KVConnectorOffer
    from kernelet.contracts.lifecycle import ConfigChange, PluginOptions, ProcessRole
    from kernelet.contracts.model import ModelArchitectureOffer, ModelSourceOffer, WeightFormatOffer
    from kernelet.contracts.op import OpOffer, WeightKernelOffer
    from kernelet.contracts.parsing import ReasoningParserOffer, ToolParserOffer
    from kernelet.contracts.platform import PlatformOffer
    from kernelet.contracts.quant import KVCacheOffer, QuantizerOffer, QuantOffer
    from kernelet.contracts.sampling import LogitsProcessorOffer
    from kernelet.contracts.serving import EndpointOffer, ServerOffer
    from kernelet.contracts.stats import StatLoggerOffer
    from kernelet.contracts.structured import GrammarEngineOffer


class _Domain:
    def __init__(self, host: PluginHost) -> None:
        self._host = host


class LifecycleHooks(_Domain):
    """Options, configuration and events; those that tell of an end run in reverse order."""

    def options(self) -> list[Answer[PluginOptions]]:
        return self._host.call("kernelet_options")

    def configure(self, config: EngineConfig) -> list[Answer[Sequence[ConfigChange]]]:
        return self._host.call("kernelet_configure", config=config)

    def process_started(self, role: ProcessRole, rank: int) -> list[Answer[None]]:
        return self._host.call("kernelet_process_started", role=role, rank=rank)

    def process_stopped(self, role: ProcessRole, rank: int) -> list[Answer[None]]:
        return self._host.call("kernelet_process_stopped", reverse=True, role=role, rank=rank)

    def engine_started(self) -> list[Answer[None]]:
        return self._host.call("kernelet_engine_started")

    def engine_stopped(self) -> list[Answer[None]]:
        return self._host.call("kernelet_engine_stopped", reverse=True)

    def hookspecs(self) -> list[Answer[Sequence[Any]]]:
        return self._host.call("kernelet_hookspecs")


class PlatformHooks(_Domain):
    def platforms(self) -> list[Answer[Sequence[PlatformOffer]]]:
        return self._host.call("kernelet_platforms")


class AttentionHooks(_Domain):
    def attention_backends(self) -> list[Answer[Sequence[AttentionOffer]]]:
        return self._host.call("kernelet_attention_backends")


class OpHooks(_Domain):
    def ops(self) -> list[Answer[Sequence[OpOffer]]]:
        return self._host.call("kernelet_ops")

    def weight_kernels(self) -> list[Answer[Sequence[WeightKernelOffer]]]:
        return self._host.call("kernelet_weight_kernels")


class CacheHooks(_Domain):
    def cache_specs(self) -> list[Answer[Sequence[CacheSpecOffer]]]:
        return self._host.call("kernelet_cache_specs")

    def cache_policies(self) -> list[Answer[Sequence[CachePolicyOffer]]]:
        return self._host.call("kernelet_cache_policies")


class ModelHooks(_Domain):
    def model_architectures(self) -> list[Answer[Sequence[ModelArchitectureOffer]]]:
        return self._host.call("kernelet_model_architectures")

    def model_sources(self) -> list[Answer[Sequence[ModelSourceOffer]]]:
        return self._host.call("kernelet_model_sources")

    def weight_formats(self) -> list[Answer[Sequence[WeightFormatOffer]]]:
        return self._host.call("kernelet_weight_formats")


class QuantHooks(_Domain):
    def quantization_methods(self) -> list[Answer[Sequence[QuantOffer]]]:
        return self._host.call("kernelet_quantization_methods")

    def quantizers(self) -> list[Answer[Sequence[QuantizerOffer]]]:
        return self._host.call("kernelet_quantizers")

    def kv_cache_methods(self) -> list[Answer[Sequence[KVCacheOffer]]]:
        return self._host.call("kernelet_kv_cache_methods")


class KVHooks(_Domain):
    def kv_connectors(self) -> list[Answer[Sequence[KVConnectorOffer]]]:
        return self._host.call("kernelet_kv_connectors")


class ExecutorHooks(_Domain):
    def executors(self) -> list[Answer[Sequence[ExecutorOffer]]]:
        return self._host.call("kernelet_executors")

    def communicators(self) -> list[Answer[Sequence[CommunicatorOffer]]]:
        return self._host.call("kernelet_communicators")

    def schedulers(self) -> list[Answer[Sequence[SchedulerOffer]]]:
        return self._host.call("kernelet_schedulers")


class SamplingHooks(_Domain):
    def logits_processors(self) -> list[Answer[Sequence[LogitsProcessorOffer]]]:
        return self._host.call("kernelet_logits_processors")


class IOHooks(_Domain):
    def io_processors(self) -> list[Answer[Sequence[IOProcessorOffer]]]:
        return self._host.call("kernelet_io_processors")


class ParsingHooks(_Domain):
    def tool_parsers(self) -> list[Answer[Sequence[ToolParserOffer]]]:
        return self._host.call("kernelet_tool_parsers")

    def reasoning_parsers(self) -> list[Answer[Sequence[ReasoningParserOffer]]]:
        return self._host.call("kernelet_reasoning_parsers")


class StructuredHooks(_Domain):
    def grammar_engines(self) -> list[Answer[Sequence[GrammarEngineOffer]]]:
        return self._host.call("kernelet_grammar_engines")


class StatsHooks(_Domain):
    def stat_loggers(self) -> list[Answer[Sequence[StatLoggerOffer]]]:
        return self._host.call("kernelet_stat_loggers")


class ServingHooks(_Domain):
    def servers(self) -> list[Answer[Sequence[ServerOffer]]]:
        return self._host.call("kernelet_servers")

    def endpoints(self) -> list[Answer[Sequence[EndpointOffer]]]:
        return self._host.call("kernelet_endpoints")


class Hooks:
    """All domains over one host."""

    def __init__(self, host: PluginHost) -> None:
        self._host = host
        self.lifecycle = LifecycleHooks(host)
        self.platform = PlatformHooks(host)
        self.attention = AttentionHooks(host)
        self.op = OpHooks(host)
        self.cache = CacheHooks(host)
        self.model = ModelHooks(host)
        self.quant = QuantHooks(host)
        self.kv = KVHooks(host)
        self.executor = ExecutorHooks(host)
        self.sampling = SamplingHooks(host)
        self.io = IOHooks(host)
        self.parsing = ParsingHooks(host)
        self.structured = StructuredHooks(host)
        self.stats = StatsHooks(host)
        self.serving = ServingHooks(host)

    def extra(self, hook: str, **arguments: Any) -> list[Answer[Any]]:
        """Calls a hook of a domain that a plugin added."""
        return self._host.call(hook, **arguments)
