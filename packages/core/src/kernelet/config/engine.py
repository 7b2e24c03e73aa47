"""All of an engine's configuration."""

from __future__ import annotations

from dataclasses import dataclass, field

from kernelet.config.cache import CacheConfig
from kernelet.config.graphs import GraphConfig
from kernelet.config.health import HealthConfig
from kernelet.config.kv import KVTransferConfig
from kernelet.config.kv_events import KVEventsConfig
from kernelet.config.model import ModelConfig
from kernelet.config.parallel import ParallelConfig
from kernelet.config.plugins import PluginsConfig
from kernelet.config.scheduler import SchedulerConfig
from kernelet.config.structured import StructuredConfig


@dataclass(frozen=True, kw_only=True)
class EngineConfig:
    """What every process of an engine is given."""

    model: ModelConfig
    cache: CacheConfig = field(default_factory=CacheConfig)
    scheduler: SchedulerConfig = field(default_factory=SchedulerConfig)
    parallel: ParallelConfig = field(default_factory=ParallelConfig)
    plugins: PluginsConfig = field(default_factory=PluginsConfig)
    health: HealthConfig = field(default_factory=HealthConfig)
    kv_transfer: KVTransferConfig = field(default_factory=KVTransferConfig)
    structured: StructuredConfig = field(default_factory=StructuredConfig)
    kv_events: KVEventsConfig = field(default_factory=KVEventsConfig)
    graphs: GraphConfig = field(default_factory=GraphConfig)
